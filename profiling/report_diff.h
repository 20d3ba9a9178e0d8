// Two snapshots held against each other, as a table. No torch here.
#pragma once

#include "profiling/snapshot_diff.h"
#include "profiling/table.h"

namespace headroom {

Table snapshot_diff_table(const SnapshotDiff& diff);

}  // namespace headroom
