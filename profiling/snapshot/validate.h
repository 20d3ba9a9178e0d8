// Says before a browser does why memory_viz would not open a snapshot, or show it wrong. No torch.
#pragma once

#include <string>
#include <vector>

#include "profiling/snapshot/read.h"

namespace headroom {

// Replays the snapshot as the viewer does: backwards from the final segments. Errors first.
std::vector<SnapshotProblem> validate_snapshot(const SnapshotFile& file);

// The same for a file; one that cannot be read is one error with its reason. Never throws for
// what is in the file.
std::vector<SnapshotProblem> validate_snapshot_file(const std::string& path);

bool has_error(const std::vector<SnapshotProblem>& problems);

}  // namespace headroom
