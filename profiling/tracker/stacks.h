// C++ stacks of allocations: captured quickly as program counters, named once at the end.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

class StackTable {
 public:
  // The index of the caller's stack; equal stacks share one. If the running node has a stored
  // forward call (profiling/tracker/forward_calls.h), its stack follows. Takes a few microseconds.
  // Not thread-safe.
  int32_t capture();

  // Names all stacks of the snapshot's events, blocks and segments, under the indices of capture():
  // fills snapshot.frames and snapshot.stacks. Frames of the running program have file and line,
  // those of libraries the function. The allocator's own frames are left out. Frame::kBackwardOf
  // stands between a backward's stack and its forward's. A stack that cannot be named has no
  // frames.
  void symbolize_into(Snapshot& snapshot) const;

 private:
  void fill_stacks(Snapshot& snapshot) const;

  std::map<std::vector<void*>, int32_t> ids_;
};

}  // namespace headroom
