// What steps leave behind: blocks that outlive the step that made them and the steps after it. No
// torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Blocks that one step made in one place, and that still live when later steps have ended.
struct Growth {
  int64_t bytes = 0;  // requested, of all of them
  int64_t count = 0;
  std::string phase;               // in which they were made
  std::string purpose;             // "gradients"; "" where the snapshot does not say
  std::vector<std::string> stack;  // as readable_stack() gives it
};

// Note [What grows]
// Rationale: a step may end with blocks of its own (gradients, new moments) that the next step
//   replaces. What grows is what no later step takes away.
// Approach: of the blocks made in the first recorded step, those that live at the end of the last,
//   by the code that made them. With three steps, the third has had its chance to free what the
//   first or the second left.
// Limits: what every hundredth step leaves is seen only where it is recorded; state that comes into
//   being in the first step of all looks the same and wants a warm-up step before it.
//
// The largest first. `steps`: how many the snapshot has recorded; each runs its phases alike, and
// begins where the first phase of all begins again.
std::vector<Growth> growth_of(const Snapshot& snapshot, size_t device, int64_t steps);

}  // namespace headroom
