// The purpose of each block of a snapshot, in words. No torch here.
//
// Note [Labels]
// Rationale: a stack has the line that allocated a block, not the block's purpose. The same lines
//   of autograd allocate every gradient, and a block from before the recording has no stack at all,
//   though the step has its name.
// Approach: each allocation and release carries its lifetime's category and name as
//   `user_metadata`, the place of a Python program's own metadata. memory_viz draws a block from
//   before the recording by its frames, or by those of its release. The label becomes the innermost
//   frame there.
// Limits: events are matched from the last one backwards. At the first event that only the snapshot
//   or only the recording has, the labels end.
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
