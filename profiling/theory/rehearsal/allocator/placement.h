// Where cudaMalloc puts a segment. No torch here.
#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace headroom {

// The driver's order of addresses, by the rules of Note [Placement] in
// virtual_gpu/device/memory/placement.h, which says what of real cards they are read from: of
// several blocks that fit alike the allocator takes the one at the lowest address. The virtual card
// has them for millions of blocks and knows no theory; here they are for the segments of one
// process.
class SegmentAddresses {
 public:
  int64_t take(int64_t bytes);  // a multiple of 2 MiB
  void give(int64_t address, int64_t bytes);

 private:
  using Runs = std::map<int64_t, int64_t>;  // first -> length
  struct Region {
    int64_t first = 0;
    int64_t length = 0;
    int64_t used = 0;
    Runs holes;
  };

  Runs free_ = {{0, std::numeric_limits<int64_t>::max() / 2}};
  std::map<int64_t, Region> regions_;   // in the order in which they are made
  std::map<int64_t, int64_t> made_at_;  // first -> key in regions_
  int64_t made_ = 0;
};

}  // namespace headroom
