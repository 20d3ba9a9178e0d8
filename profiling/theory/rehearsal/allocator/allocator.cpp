#include "profiling/theory/rehearsal/allocator/allocator.h"

#include <algorithm>

#include "text/quantity.h"
#include "train/settings/whole_units.h"

namespace headroom {
namespace {

constexpr int64_t kMiB = 1 << 20;
// c10/core/AllocatorConfig.h, by its own names.
constexpr int64_t kSmallSize = kMiB;
constexpr int64_t kSmallBuffer = 2 * kMiB;
constexpr int64_t kLargeBuffer = 20 * kMiB;
constexpr int64_t kMinLargeAlloc = 10 * kMiB;
constexpr int64_t kRoundLarge = 2 * kMiB;

int64_t segment_size(int64_t rounded) {
  if (rounded <= kSmallSize) return kSmallBuffer;
  if (rounded < kMinLargeAlloc) return kLargeBuffer;
  return whole_units(rounded, kRoundLarge);
}

}  // namespace

AllocatorRules::BlockId AllocatorRules::make(const Block& block) {
  if (spare_.empty()) {
    blocks_.push_back(block);
    return static_cast<BlockId>(blocks_.size()) - 1;
  }
  const BlockId id = spare_.back();
  spare_.pop_back();
  blocks_[id] = block;
  return id;
}

void AllocatorRules::refuse() {
  over_ = true;
  throw CardIsFull();
}

AllocatorRules::BlockId AllocatorRules::take_free(int64_t rounded, bool small) {
  Free& free = pool(small);
  const auto fit = free.lower_bound({rounded, -1, -1});
  if (fit == free.end()) return -1;
  const BlockId block = std::get<2>(*fit);
  free.erase(fit);
  return block;
}

// A segment of its own.
AllocatorRules::BlockId AllocatorRules::take_from_card(int64_t rounded, bool small) {
  const int64_t size = segment_size(rounded);
  if (size > left_on_card()) release_cached();
  if (size > left_on_card()) refuse();
  reserved_ += size;
  return make({.address = addresses_.take(size), .size = size, .small = small});
}

int64_t AllocatorRules::least_rest(bool small) const {
  return small ? kMinBlockSize : kSmallSize + 1;
}

AllocatorRules::BlockId AllocatorRules::cut(BlockId block, int64_t size) {
  const Block whole = blocks_[block];
  const BlockId rest = make({.address = whole.address + size,
                             .size = whole.size - size,
                             .previous = block,
                             .next = whole.next,
                             .small = whole.small,
                             .used = false,
                             .mapped = whole.mapped});
  if (whole.next >= 0) blocks_[whole.next].previous = rest;
  blocks_[block].next = rest;
  blocks_[block].size = size;
  return rest;
}

void AllocatorRules::split(BlockId block, int64_t rounded) {
  if (blocks_[block].size - rounded < least_rest(blocks_[block].small)) return;
  put_free(cut(block, rounded));
}

AllocatorRules::BlockId AllocatorRules::allocate(int64_t bytes) {
  const int64_t rounded = std::max(kMinBlockSize, whole_units(bytes, kMinBlockSize));
  const bool small = rounded <= kSmallSize;
  BlockId block = take_free(rounded, small);
  if (block < 0) block = take_from_card(rounded, small);
  split(block, rounded);
  blocks_[block].used = true;
  if (__builtin_add_overflow(allocated_, blocks_[block].size, &allocated_)) {
    throw UsageError(
        "theory: these settings make a sum beyond 2^63 bytes "
        "(example: --batch-size 4 --context-length 512)");
  }
  return block;
}

void AllocatorRules::join_next(BlockId block) {
  const BlockId behind = blocks_[block].next;
  blocks_[block].size += blocks_[behind].size;
  blocks_[block].next = blocks_[behind].next;
  if (blocks_[block].next >= 0) blocks_[blocks_[block].next].previous = block;
  spare_.push_back(behind);
}

void AllocatorRules::put_free(BlockId block) {
  pool(blocks_[block].small).emplace(blocks_[block].size, blocks_[block].address, block);
}

void AllocatorRules::take_out(BlockId block) {
  pool(blocks_[block].small).erase({blocks_[block].size, blocks_[block].address, block});
}

AllocatorRules::BlockId AllocatorRules::join_neighbours(BlockId block) {
  const auto is_alike = [&](BlockId other) {
    return other >= 0 && !blocks_[other].used && blocks_[other].mapped == blocks_[block].mapped;
  };
  const BlockId behind = blocks_[block].next;
  if (is_alike(behind)) {
    take_out(behind);
    join_next(block);
  }
  const BlockId before = blocks_[block].previous;
  if (!is_alike(before)) return block;
  take_out(before);
  join_next(before);
  return before;
}

void AllocatorRules::release(BlockId block) {
  if (over_) return;
  allocated_ -= blocks_[block].size;
  blocks_[block].used = false;
  put_free(join_neighbours(block));
}

void AllocatorRules::release_cached() {
  for (Free* free : {&small_, &large_}) {
    for (auto it = free->begin(); it != free->end();) {
      const BlockId id = std::get<2>(*it);
      const bool whole = blocks_[id].previous < 0 && blocks_[id].next < 0;
      if (whole) {
        addresses_.give(blocks_[id].address, blocks_[id].size);
        reserved_ -= blocks_[id].size;
        spare_.push_back(id);
      }
      it = whole ? free->erase(it) : std::next(it);
    }
  }
}

}  // namespace headroom
