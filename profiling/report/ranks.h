// The ranks of a run on a mesh, as tables. No torch here.
#pragma once

#include <vector>

#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

// Each rank's peak, and the bytes of its collectives in a step; empty for a Record of one rank.
std::vector<Table> rank_tables(const Record& record);

}  // namespace headroom
