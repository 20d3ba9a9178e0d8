// What each block of a snapshot is for, in words. No torch here.
//
// Note [Labels]
// Rationale: a stack says which line allocated a block, not what the block became: every gradient
//   is allocated by the same lines of autograd, and what lived before the recording has no line at
//   all, though the step knows it by name.
// Approach: each allocation and release carries its lifetime's category and name as
//   `user_metadata`, where a program of Python's has what it attached itself. memory_viz draws a
//   block that lived before from its frames, or from those of its release, so there the same words
//   are the innermost frame.
// Limits: events that the snapshot has and the recording has not, or the other way round, end the
//   labels: they are matched from the last one backwards.
#pragma once

#include <vector>

#include "profiling/lifetimes.h"
#include "profiling/snapshot/snapshot.h"

namespace headroom {

// `snapshot` and `recording` are of the same device and end at the same moment; the snapshot may
// lack the oldest events.
void label_blocks(Snapshot& snapshot, const Recording& recording,
                  const std::vector<Lifetime>& lifetimes);

}  // namespace headroom
