#include "virtual_gpu/device/address_space.h"

#include <algorithm>
#include <iterator>

namespace virtual_gpu {
namespace {

constexpr uint32_t kFirst = uint32_t{1} << 31;   // first page of a block; the rest is its length
constexpr uint32_t kShared = uint32_t{1} << 30;  // with kFirst: a page of slots

uint32_t divide_up(uint64_t bytes, uint64_t unit) {
  return static_cast<uint32_t>((bytes + unit - 1) / unit);
}

}  // namespace

AddressSpace::AddressSpace(uint64_t base, uint64_t bytes) : base_(base), bytes_(bytes) {
  free_runs_[0] = static_cast<uint32_t>(bytes / kPageBytes);
}

std::optional<uint32_t> AddressSpace::SharedPage::take(uint32_t slots) {
  uint32_t run = 0;
  uint32_t longest = 0;
  // Once from the cursor to the end, then from the beginning.
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
  const auto run = std::find_if(free_runs_.begin(), free_runs_.end(),
                                [count](const auto& free) { return free.second >= count; });
  if (run == free_runs_.end()) return std::nullopt;
  const auto [first, length] = *run;
  free_runs_.erase(run);
  if (length > count) free_runs_[first + count] = length - count;
  if (pages_.size() < first + count) pages_.resize(first + count);
  pages_[first] = kFirst | count;
  for (uint32_t i = 1; i < count; ++i) pages_[first + i] = i;
  used_pages_ += count;
  return first;
}

void AddressSpace::give_pages(uint32_t first, uint32_t count) {
  std::fill_n(pages_.begin() + first, count, 0);
  used_pages_ -= count;
  auto after = free_runs_.lower_bound(first);
  if (after != free_runs_.end() && after->first == first + count) {
    count += after->second;
    after = free_runs_.erase(after);
  }
  if (after != free_runs_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) {
      before->second += count;
      return;
    }
  }
  free_runs_[first] = count;
}

std::optional<uint64_t> AddressSpace::allocate_slots(uint32_t slots) {
  // longest_run is an upper bound: a page that cannot keep it is filed again under what it has.
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
  pages_[*first] |= kShared;
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
  if (page >= pages_.size() || pages_[page] == 0) return std::nullopt;
  if ((pages_[page] & kFirst) == 0) page -= pages_[page];
  if ((pages_[page] & kShared) == 0) {
    return Block{page_address(page), (pages_[page] & ~kFirst) * kPageBytes};
  }
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
  if ((pages_[page] & kShared) == 0) {
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
