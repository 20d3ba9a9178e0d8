// What a step moved beside its arithmetic.
#pragma once

#include <vector>

#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// Over the host link, with the least time that takes, and to and from the disk; a table for each
// that anything went.
std::vector<Table> traffic_tables(const Record& record);

}  // namespace headroom
