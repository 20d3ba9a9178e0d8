// Compares two snapshots, as a table. No torch here.
#pragma once

#include "profiling/snapshot/analysis/diff.h"
#include "text/table.h"

namespace headroom {

Table snapshot_diff_table(const SnapshotDiff& diff);

}  // namespace headroom
