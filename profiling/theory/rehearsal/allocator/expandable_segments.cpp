#include "profiling/theory/rehearsal/allocator/expandable_segments.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "train/settings/whole_units.h"

namespace headroom {
namespace {

constexpr int64_t kOneMiB = 1 << 20;

int64_t page_of(bool small) { return (small ? 2 : 20) * kOneMiB; }

}  // namespace

int64_t ExpandableSegmentRules::least_rest(bool) const { return kMinBlockSize; }

int64_t ExpandableSegmentRules::could_become(BlockId block) const {
  const BlockId next = blocks_[block].next;
  return blocks_[block].size + (next >= 0 && !blocks_[next].mapped ? blocks_[next].size : 0);
}

AllocatorRules::BlockId ExpandableSegmentRules::take_free(int64_t rounded, bool small) {
  Free& free = pool(small);
  auto fit = free.lower_bound({rounded, -1, -1});
  if (fit == free.end()) return -1;
  const auto length = [this](const auto& place) { return could_become(std::get<2>(*place)); };
  for (auto next = std::next(fit); next != free.end() && length(next) < length(fit); ++next) {
    fit = next;
  }
  const BlockId block = std::get<2>(*fit);
  free.erase(fit);
  return block;
}

AllocatorRules::BlockId ExpandableSegmentRules::take_from_card(int64_t rounded, bool small) {
  BlockId block = grown(rounded, small);
  if (block < 0) {
    release_cached();
    block = grown(rounded, small);
  }
  if (block < 0) refuse();
  take_out(block);
  return block;
}

void ExpandableSegmentRules::take_out(BlockId block) {
  if (blocks_[block].mapped) return AllocatorRules::take_out(block);
  unmapped(blocks_[block].small).erase({blocks_[block].address, block});
}

void ExpandableSegmentRules::put_unmapped(BlockId block) {
  unmapped(blocks_[block].small).emplace(blocks_[block].address, block);
}

bool ExpandableSegmentRules::is_long_enough(BlockId block, int64_t rounded) const {
  int64_t bytes = 0;
  for (; bytes < rounded && block >= 0 && !blocks_[block].used; block = blocks_[block].next) {
    bytes += blocks_[block].size;
  }
  return bytes >= rounded;
}

AllocatorRules::BlockId ExpandableSegmentRules::chain_for(int64_t rounded, bool small) {
  for (const auto& [address, block] : unmapped(small)) {
    const BlockId before = blocks_[block].previous;
    const BlockId first = before >= 0 && !blocks_[before].used ? before : block;
    if (is_long_enough(first, rounded)) return first;
  }
  return new_range(small);
}

AllocatorRules::BlockId ExpandableSegmentRules::new_range(bool small) {
  const int64_t size = whole_units(card_bytes_ + card_bytes_ / 8, page_of(small));
  const BlockId block =
      make({.address = next_range_, .size = size, .small = small, .mapped = false});
  next_range_ += size;
  put_unmapped(block);
  return block;
}

AllocatorRules::BlockId ExpandableSegmentRules::grown(int64_t rounded, bool small) {
  BlockId block = chain_for(rounded, small);
  if (!blocks_[block].mapped) block = map(block, std::min(blocks_[block].size, rounded));
  while (block >= 0 && blocks_[block].size < rounded) {
    const BlockId next = blocks_[block].next;
    block = map(next, std::min(rounded - blocks_[block].size, blocks_[next].size));
  }
  return block;
}

AllocatorRules::BlockId ExpandableSegmentRules::map(BlockId block, int64_t bytes) {
  const int64_t pages = whole_units(bytes, page_of(blocks_[block].small));
  if (pages > left_on_card()) return -1;
  reserved_ += pages;
  take_out(block);
  if (pages < blocks_[block].size) put_unmapped(cut(block, pages));
  blocks_[block].mapped = true;
  block = join_neighbours(block);
  put_free(block);
  return block;
}

void ExpandableSegmentRules::unmap(BlockId block) {
  const int64_t page = page_of(blocks_[block].small);
  const int64_t begin = blocks_[block].address;
  const int64_t first = whole_units(begin, page);
  const int64_t last = (begin + blocks_[block].size) / page * page;
  if (last <= first) return;
  take_out(block);
  if (first > begin) {
    const BlockId pages = cut(block, first - begin);
    put_free(block);
    block = pages;
  }
  if (blocks_[block].size > last - first) put_free(cut(block, last - first));
  blocks_[block].mapped = false;
  reserved_ -= last - first;
  put_unmapped(join_neighbours(block));
}

void ExpandableSegmentRules::release_cached() {
  for (const bool small : {false, true}) {
    std::vector<BlockId> free;
    for (const auto& block : pool(small)) free.push_back(std::get<2>(block));
    for (const BlockId block : free) unmap(block);
  }
}

}  // namespace headroom
