// Blocks that outlive the step that made them and the steps after it. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Blocks that one step made in one place and that are still live after later steps.
struct Growth {
  int64_t bytes = 0;  // requested, of all blocks
  int64_t count = 0;
  std::string phase;               // of their allocation
  std::string purpose;             // "gradients"; "" = not in the snapshot
  std::vector<std::string> stack;  // as from readable_stack()
};

// Note [Growth of live memory]
// Rationale: a step may end with blocks of its own (gradients, new moments) that the next step
//   replaces. Only blocks that no later step frees are growth.
// Approach: take the blocks made in the first recorded step that are live at the end of the last,
//   by the code that made them. With three steps, the third could have freed blocks that the first
//   or the second left.
// Limits: a block of every hundredth step is found only if that step is recorded. State created in
//   the very first step looks the same; run a warm-up step before the recording.
//
// Sorted, largest first. The snapshot has recorded `steps` steps. All run the same phases; a step
// begins where the very first phase begins again.
std::vector<Growth> growth_of(const Snapshot& snapshot, size_t device, int64_t steps);

}  // namespace headroom
