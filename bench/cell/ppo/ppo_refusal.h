// The place in an iteration where memory ran out, and the owners of the live bytes.
#pragma once

#include "bench/cell/ppo/ppo_bench.h"
#include "bench/cell/run.h"
#include "profiling/record/record.h"

namespace headroom {

// The bench's state at the refusal. Only after an out-of-memory.
OutOfMemory moment_of(const PpoBench& bench);

// Note [Owners of the bytes at a refusal]
// Rationale: memory runs out in the first iteration, before anything is recorded. The place of the
//   refusal, "training, optimizer", does not show what to reduce.
// Approach: the run is repeated with every allocation recorded, up to the same refusal. The Record
//   gets the live bytes by role and category, and the component that grew most since the innermost
//   phase began. Nothing is recorded while roles are built: the growth there is the weights of
//   that role, with its master copies. Components of phases that had ended stay in the Record,
//   like their peaks.
// Limits: twice the time. If memory suffices the second time, nothing is added. Pinned memory has
//   no record of its owners.
//
// Without record_steps nothing is repeated. Fills record.out_of_memory, its reason and, for phases
// that had ended, record.ppo->phases. The first bench must be destroyed: its memory is free.
void describe_refusal(const RunSpec& shared, const PpoSetup& setup, const RunOptions& options,
                      OutOfMemory moment, Record& record);

}  // namespace headroom
