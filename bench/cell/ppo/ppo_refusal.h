// Where in an iteration memory ran out, and whose bytes were there.
#pragma once

#include "bench/cell/ppo/ppo_bench.h"
#include "bench/cell/run.h"
#include "profiling/record/record.h"

namespace headroom {

// What the bench knows of it. Only where it has run out.
OutOfMemory moment_of(const PpoBench& bench);

// Note [Whose bytes a refusal met]
// Rationale: memory runs out in the first iteration, before anything is recorded. That "training,
//   optimizer" was the last straw says little of what to take away.
// Approach: the run is made once more with every allocation recorded, up to the same refusal. What
//   was live then, by role and category, and the component that had grown most since the innermost
//   phase began go into the Record. While roles are built nothing is recorded: what grows there is
//   the weights of the role that is built, its master copies with them. Components of phases that
//   had ended stay in the Record, like their peaks.
// Limits: twice the time. A run that does not run out the second time says nothing more. Pinned
//   memory has no record of who took it.
//
// Without record_steps nothing is run again. Fills record.out_of_memory, its reason and, of phases
// that had ended, record.ppo->phases. The first bench is gone by now: its memory is free.
void describe_refusal(const RunSpec& shared, const PpoSetup& setup, const RunOptions& options,
                      OutOfMemory moment, Record& record);

}  // namespace headroom
