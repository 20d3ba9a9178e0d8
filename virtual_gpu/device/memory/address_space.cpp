#include "virtual_gpu/device/memory/address_space.h"

#include <algorithm>

namespace virtual_gpu {
namespace {

constexpr uint32_t kFirst = uint32_t{1} << 31;   // first page of a block; the rest is its length
constexpr uint32_t kShared = uint32_t{1} << 30;  // with kFirst: a page of slots

uint32_t divide_up(uint64_t bytes, uint64_t unit) {
  return static_cast<uint32_t>((bytes + unit - 1) / unit);
}

}  // namespace

AddressSpace::AddressSpace(uint64_t base, uint64_t bytes, Gaps gaps)
    : base_(base), bytes_(bytes), placement_(static_cast<uint32_t>(bytes / kPageBytes), gaps) {}

std::optional<uint32_t> AddressSpace::SharedPage::take(uint32_t slots) {
  uint32_t run = 0;
  uint32_t longest = 0;
  // Search from the cursor to the end, then from the beginning.
  for (uint32_t pass = 0, slot = cursor; pass < 2; ++pass, slot = 0) {
    run = 0;
    for (; slot < kSlots; ++slot) {
      run = taken[slot] ? 0 : run + 1;
      longest = std::max(longest, run);
      if (run < slots) continue;
      const uint32_t first = slot + 1 - slots;
      for (uint32_t i = first; i <= slot; ++i) taken.set(i);
      starts.set(first);
      free_slots -= slots;
      cursor = slot + 1;
      return first;
    }
  }
  longest_run = longest;
  return std::nullopt;
}

std::optional<uint32_t> AddressSpace::take_pages(uint32_t count) {
  const auto first = placement_.take(count);
  if (!first) return std::nullopt;
  words_.resize(std::max(words_.size(), word_of(*first) + 1));
  words_[word_of(*first)] = kFirst | count;
  for (uint32_t i = 1; i < count; ++i) words_[word_of(*first + i)] = i;
  used_pages_ += count;
  return first;
}

void AddressSpace::give_pages(uint32_t first, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) words_[word_of(first + i)] = 0;
  used_pages_ -= count;
  placement_.give(first, count);
}

std::optional<uint64_t> AddressSpace::allocate_slots(uint32_t slots) {
  // longest_run is an upper bound: a page without such a run is filed again under a lower one.
  for (auto open = open_.lower_bound({slots, 0}); open != open_.end();
       open = open_.lower_bound({slots, 0})) {
    const uint32_t number = open->second;
    open_.erase(open);
    SharedPage& page = *shared_.at(number);
    const auto slot = page.take(slots);
    page.longest_run = std::min(page.longest_run, page.free_slots);
    if (page.longest_run > 0) open_.insert({page.longest_run, number});
    if (slot) return page_address(number) + *slot * kSlotBytes;
  }
  const auto first = take_pages(1);
  if (!first) return std::nullopt;
  words_[word_of(*first)] |= kShared;
  auto& page = shared_[*first] = std::make_unique<SharedPage>();
  const uint32_t slot = *page->take(slots);
  page->longest_run = page->free_slots;
  if (page->longest_run > 0) open_.insert({page->longest_run, *first});
  return page_address(*first) + slot * kSlotBytes;
}

std::optional<uint64_t> AddressSpace::allocate(uint64_t bytes) {
  std::optional<uint64_t> address;
  if (bytes < kSharedPageLimit) {
    address = allocate_slots(divide_up(bytes, kSlotBytes));
  } else if (bytes <= bytes_) {
    const auto page = take_pages(divide_up(bytes, kPageBytes));
    if (page) address = page_address(*page);
  }
  if (address) ++live_blocks_;
  return address;
}

std::optional<AddressSpace::Block> AddressSpace::find(uint64_t address) const {
  if (!contains(address)) return std::nullopt;
  auto page = static_cast<uint32_t>((address - base_) / kPageBytes);
  if (word_of(page) >= words_.size() || words_[word_of(page)] == 0) return std::nullopt;
  if ((words_[word_of(page)] & kFirst) == 0) page -= words_[word_of(page)];
  const uint32_t word = words_[word_of(page)];
  if ((word & kShared) == 0) return Block{page_address(page), (word & ~kFirst) * kPageBytes};
  const SharedPage& shared = *shared_.at(page);
  auto slot = static_cast<uint32_t>((address - page_address(page)) / kSlotBytes);
  if (!shared.taken[slot]) return std::nullopt;
  while (!shared.starts[slot]) --slot;
  uint32_t end = slot + 1;
  while (end < kSlots && shared.taken[end] && !shared.starts[end]) ++end;
  return Block{page_address(page) + slot * kSlotBytes, (end - slot) * kSlotBytes};
}

std::optional<uint64_t> AddressSpace::release(uint64_t address) {
  const auto block = find(address);
  if (!block || block->address != address) return std::nullopt;
  const auto page = static_cast<uint32_t>((address - base_) / kPageBytes);
  --live_blocks_;
  if ((words_[word_of(page)] & kShared) == 0) {
    give_pages(page, static_cast<uint32_t>(block->bytes / kPageBytes));
    return block->bytes;
  }
  SharedPage& shared = *shared_.at(page);
  const auto first = static_cast<uint32_t>((address - page_address(page)) / kSlotBytes);
  const auto count = static_cast<uint32_t>(block->bytes / kSlotBytes);
  for (uint32_t i = first; i < first + count; ++i) shared.taken.reset(i);
  shared.starts.reset(first);
  if (shared.longest_run > 0) open_.erase({shared.longest_run, page});
  shared.free_slots += count;
  shared.longest_run = shared.free_slots;
  if (shared.free_slots < kSlots) {
    open_.insert({shared.longest_run, page});
    return block->bytes;
  }
  shared_.erase(page);
  give_pages(page, 1);
  return block->bytes;
}

}  // namespace virtual_gpu
