// How libtorch's caching allocator hands out blocks with expandable_segments:True. No torch here.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "profiling/theory/rehearsal/allocator/allocator.h"

namespace headroom {

// Note [Segments that expand]
// Rationale: what they save is what is free in pieces, and how much that is decides whether a run
//   fits: a search that knew their peak alone asked the card seven times for each largest value.
// Approach: the rules of libtorch 2.11. A pool has one range of addresses, an eighth longer than
//   the card. Memory comes into it in pages, of 2 MiB for requests of up to 1 MiB and of 20 MiB for
//   others, at the lowest address where the free blocks and those without memory are long enough. A
//   request takes the smallest free block that is large enough; one that could grow counts as long
//   as it could become. Every rest of a block is split off. Where the card is full the whole pages
//   of free blocks go back, and it is asked once more.
// Limits: as those of Note [Memory added by the allocator]. Where a pool needs a second range its
// address
//   is the kernel's choice, and with it which hole is filled first: there it is right within a part
//   in a thousand, not to the byte.
class ExpandableSegmentRules : public AllocatorRules {
 public:
  // card_bytes: all that the card has, what the run cannot have too.
  explicit ExpandableSegmentRules(int64_t card_bytes) : card_bytes_(card_bytes) {}

  void release_cached() override;  // whole pages of free blocks go

 protected:
  BlockId take_free(int64_t rounded, bool small) override;
  BlockId take_from_card(int64_t rounded, bool small) override;
  int64_t least_rest(bool small) const override;
  void take_out(BlockId block) override;

 private:
  using Unmapped = std::set<std::pair<int64_t, BlockId>>;  // address

  Unmapped& unmapped(bool small) { return small ? unmapped_small_ : unmapped_large_; }
  void put_unmapped(BlockId block);
  int64_t could_become(BlockId block) const;  // bytes
  // A block that is not in use, with others behind it long enough for the request.
  BlockId chain_for(int64_t rounded, bool small);
  bool is_long_enough(BlockId block, int64_t rounded) const;
  BlockId new_range(bool small);
  // They return -1 if the card has no room.
  BlockId grown(int64_t rounded, bool small);
  BlockId map(BlockId block, int64_t bytes);
  void unmap(BlockId block);

  Unmapped unmapped_small_, unmapped_large_;
  int64_t card_bytes_;
  int64_t next_range_ = 0;  // address
};

}  // namespace headroom
