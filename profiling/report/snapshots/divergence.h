// Why two snapshots differ, as tables. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/snapshot/analysis/divergence.h"
#include "text/table.h"

namespace headroom {

// Allocator settings that differ, the figures of both, and the lines of code that differ at the
// moment of the largest divergence: at most `limit`, 0 = all.
std::vector<Table> divergence_tables(const SnapshotDivergence& divergence, size_t limit);

// "grown", "only in B"
std::string change_in_words(const LineDifference& line);

}  // namespace headroom
