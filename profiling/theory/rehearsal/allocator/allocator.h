// How libtorch's caching allocator hands out blocks. No torch here.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "profiling/theory/rehearsal/allocator/placement.h"

namespace headroom {

// Note [Memory added by the allocator]
// Rationale: a peak is counted in blocks. A block is the request rounded up to 512 bytes, or a
//   cached block that is not split because too little of it would be left: up to 1 MiB more, which
//   of a model with tensors of 25 MiB is 4 %. Which cached block a request meets depends on all
//   requests before it.
// Approach: the rules of libtorch 2.11's native allocator at its default settings, as its source
//   states them: two pools, segments of 2 MiB, 20 MiB or the request rounded up to 2 MiB, the
//   smallest block that is large enough, of several the one at the lowest address, neighbours
//   joined when they are let go. Where the card is full, segments that are free as a whole go back
//   and it is asked once more.
// Limits: one stream, no other setting of --alloc-conf but expandable segments
//   (rehearsal/expandable_segments.h). What runs on a virtual card is libtorch's own allocator;
//   this one says what to expect of it.
class AllocatorRules {
 public:
  using BlockId = int32_t;

  AllocatorRules() = default;
  virtual ~AllocatorRules() = default;
  AllocatorRules(const AllocatorRules&) = delete;
  AllocatorRules& operator=(const AllocatorRules&) = delete;

  // So many bytes has the card for its segments; more is CardIsFull, and the rehearsal over: what
  // is let go after it is not looked at.
  void limit(int64_t bytes) { limit_ = bytes; }

  BlockId allocate(int64_t bytes);
  void release(BlockId block);
  virtual void release_cached();  // empty_cache(): segments that are free as a whole go

  int64_t size(BlockId block) const { return blocks_[block].size; }
  int64_t allocated() const { return allocated_; }  // in blocks that are in use
  int64_t reserved() const { return reserved_; }    // in segments

 protected:
  static constexpr int64_t kMinBlockSize = 512;  // c10/core/AllocatorConfig.h

  struct Block {
    int64_t address = 0;
    int64_t size = 0;
    BlockId previous = -1;  // neighbours in the segment
    BlockId next = -1;
    bool small = false;
    bool used = false;
    bool mapped = true;  // has memory; not yet, or no longer, in an expandable segment
  };
  using Free = std::set<std::tuple<int64_t, int64_t, BlockId>>;  // size, address

  // The steps that settings of the allocator change. The free block for a request, taken out of its
  // pool, or -1; one with memory of the card's, or CardIsFull; and the least that is split off a
  // block.
  virtual BlockId take_free(int64_t rounded, bool small);
  virtual BlockId take_from_card(int64_t rounded, bool small);
  virtual int64_t least_rest(bool small) const;
  virtual void take_out(BlockId block);  // a block that is not in use, out of its pool

  Free& pool(bool small) { return small ? small_ : large_; }
  BlockId make(const Block& block);
  // The block from `size` on becomes one behind it, of the same pool and kind.
  BlockId cut(BlockId block, int64_t size);
  void join_next(BlockId block);  // with the block behind it
  // With the neighbours that are not in use either and have memory, or none, as it has; they are
  // taken out of their pools. Returns its number from then on.
  BlockId join_neighbours(BlockId block);
  void put_free(BlockId block);
  [[noreturn]] void refuse();
  int64_t left_on_card() const { return limit_ - reserved_; }

  std::vector<Block> blocks_;
  std::vector<BlockId> spare_;  // numbers that are free again
  int64_t allocated_ = 0;
  int64_t reserved_ = 0;
  int64_t limit_ = std::numeric_limits<int64_t>::max();

 private:
  void split(BlockId block, int64_t rounded);

  Free small_, large_;
  SegmentAddresses addresses_;
  bool over_ = false;
};

// The out-of-memory error that the program would get.
class CardIsFull : public std::runtime_error {
 public:
  CardIsFull() : std::runtime_error("the card is full") {}
};

}  // namespace headroom
