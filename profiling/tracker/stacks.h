// C++ stacks of allocations: taken quickly as program counters, named once at the end.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

class StackTable {
 public:
  // The stack of the caller, as an index; equal stacks share one. Behind it that of the forward's
  // call, where a node runs that somebody noted (profiling/tracker/forward_calls.h). A few
  // microseconds. Not safe from several threads at once.
  int32_t capture();

  // Names every stack that the snapshot's events, blocks and segments refer to, indices as
  // capture() gave them: fills snapshot.frames and snapshot.stacks. Frames of the running program
  // carry file and line, those of libraries the function; the allocator's own are left out; between
  // a backward's and its forward's stands Frame::kBackwardOf. What cannot be named is left without
  // frames.
  void symbolize_into(Snapshot& snapshot) const;

 private:
  void fill_stacks(Snapshot& snapshot) const;

  std::map<std::vector<void*>, int32_t> ids_;
};

}  // namespace headroom
