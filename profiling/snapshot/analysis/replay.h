// Undoes one device's trace from its final state, as the viewer does. No torch here.
#pragma once

#include <cstddef>
#include <vector>

#include "profiling/snapshot/read.h"

namespace headroom {

// Note [Replay backwards]
// Rationale: the file holds the final state and the events before it, so a replay can only start
//   from the last state. The viewer draws earlier instants that way too.
// Approach: undo events from the last to the first on an ordered map of live blocks and one of
//   segments. An event that cannot be undone contradicts the final state.
// Limits: each contradiction counts once where it is found; its consequences may count again under
//   another heading.
void replay_backwards(const Snapshot& snapshot, size_t device,
                      std::vector<SnapshotProblem>& problems);

}  // namespace headroom
