// Finds why memory_viz would not open a snapshot, or would show it wrong. No torch.
#pragma once

#include <string>
#include <vector>

#include "profiling/snapshot/read.h"

namespace headroom {

// Replays the snapshot as the viewer does: backwards from the final segments. Errors first.
std::vector<SnapshotProblem> validate_snapshot(const SnapshotFile& file);

// The same for a file. An unreadable file gives one error with the reason. Never throws for a
// file's content.
std::vector<SnapshotProblem> validate_snapshot_file(const std::string& path);

bool has_error(const std::vector<SnapshotProblem>& problems);

}  // namespace headroom
