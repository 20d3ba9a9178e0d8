// How libtorch's caching allocator hands out blocks. No torch here.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "profiling/theory/rehearsal/placement.h"

namespace headroom {

// Note [What the allocator adds]
// Rationale: a peak is counted in blocks. A block is the request rounded up to 512 bytes, or a
//   cached block that is not split because too little of it would be left: up to 1 MiB more, which
//   of a model with tensors of 25 MiB is 4 %. Which cached block a request meets depends on all
//   requests before it.
// Approach: the rules of libtorch 2.11's native allocator at its default settings, as its source
//   states them: two pools, segments of 2 MiB, 20 MiB or the request rounded up to 2 MiB, the
//   smallest block that is large enough, of several the one at the lowest address, neighbours
//   joined when they are let go. Where the card is full, segments that are free as a whole go back
//   and it is asked once more.
// Limits: one stream, no other setting of --alloc-conf. What runs on a virtual card is libtorch's
//   own allocator; this one says what to expect of it.
class AllocatorRules {
 public:
  using BlockId = int32_t;

  // So many bytes has the card for its segments; more is CardIsFull, and the rehearsal over: what
  // is let go after it is not looked at.
  void limit(int64_t bytes) { limit_ = bytes; }

  BlockId allocate(int64_t bytes);
  void release(BlockId block);
  void release_cached();  // empty_cache(): segments that are free as a whole go

  int64_t size(BlockId block) const { return blocks_[block].size; }
  int64_t allocated() const { return allocated_; }  // in blocks that are in use
  int64_t reserved() const { return reserved_; }    // in segments

 private:
  struct Block {
    int64_t address = 0;
    int64_t size = 0;
    BlockId previous = -1;  // neighbours in the segment
    BlockId next = -1;
    bool small = false;
    bool used = false;
  };
  using Free = std::set<std::tuple<int64_t, int64_t, BlockId>>;  // size, address

  Free& pool(bool small) { return small ? small_ : large_; }
  BlockId make(const Block& block);
  BlockId new_segment(int64_t rounded, bool small);
  void split(BlockId block, int64_t rounded);
  void join_next(BlockId block);  // with the block behind it

  std::vector<Block> blocks_;
  std::vector<BlockId> spare_;  // numbers that are free again
  Free small_, large_;
  SegmentAddresses addresses_;
  int64_t allocated_ = 0;
  int64_t reserved_ = 0;
  int64_t limit_ = std::numeric_limits<int64_t>::max();
  bool over_ = false;
};

// What the program would get as an out-of-memory error.
class CardIsFull : public std::runtime_error {
 public:
  CardIsFull() : std::runtime_error("the card is full") {}
};

}  // namespace headroom
