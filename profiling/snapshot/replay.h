// One device's trace undone on its final state, as the viewer does it. No torch here.
#pragma once

#include <cstddef>
#include <vector>

#include "profiling/snapshot/read.h"

namespace headroom {

// Note [Replay backwards]
// Rationale: the file holds the final state and the events before it, so the only state from which
//   a replay can start is the last one. That is also how the viewer draws an earlier instant.
// Approach: undo events from the last to the first on an ordered map of live blocks and one of
//   segments; whatever cannot be undone is a contradiction between trace and final state.
// Limits: each contradiction is counted once where it is met; what follows from it may be counted
//   again under another heading.
void replay_backwards(const Snapshot& snapshot, size_t device,
                      std::vector<SnapshotProblem>& problems);

}  // namespace headroom
