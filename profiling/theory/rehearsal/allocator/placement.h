// The place where cudaMalloc puts a segment. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

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
  void measure_holes(size_t region);

  Runs free_ = {{0, std::numeric_limits<int64_t>::max() / 2}};
  // In the order in which they are made; those that are gone stay, without a hole.
  std::vector<Region> regions_;
  // One entry for each region: a large model has thousands of them, most without room.
  std::vector<int64_t> longest_hole_;
  std::map<int64_t, size_t> made_at_;  // first -> place in regions_
};

}  // namespace headroom
