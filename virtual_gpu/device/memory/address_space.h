// The addresses of one device's memory: those in use, and the place of the next block.
//
// Note [Addresses]
// Rationale: a pointer of the virtual card must never be readable, must be distinguishable from a
//   host pointer, and must cost the host nothing however large the card is.
// Approach: pages of 2 MiB, as the driver maps them. A request of 1 MiB or more takes whole pages;
//   smaller ones share a page in slots of 512 bytes. Note [Placement] chooses the pages. The state
//   is one 32-bit word per page and two bits per slot: ten million live blocks stay under 40 MB.
//   Addresses are taken from the upper end, so the words are counted from there.
// Limits: used memory is whole pages; the rest of a 32 MiB region costs addresses but no memory, as
//   cudaMemGetInfo shows on a card. How a card's small blocks share a page is not known (libtorch
//   asks for 2 MiB and more).
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "virtual_gpu/device/memory/placement.h"

namespace virtual_gpu {

// A pointer as an integer address.
inline uint64_t as_address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

class AddressSpace {
 public:
  static constexpr uint64_t kPageBytes = uint64_t{2} << 20;
  static constexpr uint64_t kSlotBytes = 512;
  static constexpr uint64_t kSharedPageLimit = uint64_t{1} << 20;  // smaller requests share a page

  struct Block {
    uint64_t address;
    uint64_t bytes;  // rounded up to slots or pages
  };

  // Allocates from [base, base + bytes); base is a multiple of kPageBytes.
  AddressSpace(uint64_t base, uint64_t bytes, Gaps gaps = Gaps::kLonger);

  // nullopt if no run of addresses is long enough. bytes > 0.
  std::optional<uint64_t> allocate(uint64_t bytes);
  // Freed bytes; nullopt if no live block starts there.
  std::optional<uint64_t> release(uint64_t address);
  // The live block that contains this address.
  std::optional<Block> find(uint64_t address) const;

  // used_bytes(): whole pages, shared ones included.
  uint64_t base() const { return base_; }
  uint64_t used_bytes() const { return used_pages_ * kPageBytes; }
  uint64_t live_blocks() const { return live_blocks_; }
  bool contains(uint64_t address) const { return address >= base_ && address < base_ + bytes_; }

 private:
  static constexpr uint32_t kSlots = kPageBytes / kSlotBytes;
  struct SharedPage {
    std::bitset<kSlots> taken;
    std::bitset<kSlots> starts;
    uint32_t free_slots = kSlots;
    uint32_t longest_run = kSlots;  // upper bound
    uint32_t cursor = 0;            // where the last block ended
    std::optional<uint32_t> take(uint32_t slots);
  };

  std::optional<uint32_t> take_pages(uint32_t count);
  void give_pages(uint32_t first, uint32_t count);
  std::optional<uint64_t> allocate_slots(uint32_t slots);
  uint64_t page_address(uint32_t page) const { return base_ + page * kPageBytes; }
  // The word of the highest page is the first.
  size_t word_of(uint32_t page) const { return bytes_ / kPageBytes - 1 - page; }

  uint64_t base_;
  uint64_t bytes_;
  // Per page: 0 = free, kFirst | count at a block's first page, the distance to it in the others.
  std::vector<uint32_t> words_;
  Placement placement_;
  std::map<uint32_t, std::unique_ptr<SharedPage>> shared_;
  std::set<std::pair<uint32_t, uint32_t>> open_;  // (longest_run, page) of shared pages with room
  uint64_t used_pages_ = 0;
  uint64_t live_blocks_ = 0;
};

}  // namespace virtual_gpu
