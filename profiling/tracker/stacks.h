// C++ stacks of allocations: taken quickly as program counters, named once at the end.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

class StackTable {
 public:
  // The stack of the caller, as an index; equal stacks share one. A few microseconds. Not safe from
  // several threads at once.
  int32_t capture();

  // Names every program counter once and fills snapshot.frames and snapshot.stacks, indices as
  // capture() gave them. Frames of the running program carry file and line; those of libraries the
  // function. Seconds, mostly spent reading debug information.
  void symbolize_into(Snapshot& snapshot) const;

 private:
  std::map<std::vector<void*>, int32_t> ids_;
};

}  // namespace headroom
