// Memory that steps leave behind, as tables. No torch here.
#pragma once

#include <vector>

#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

// Live bytes after each step, and their growth; empty for a Record that was not watched.
std::vector<Table> watch_tables(const Record& record);

// The peak under each of the allocator's settings. The first Record has the requested setting.
Table settings_table(const std::vector<Record>& records);

}  // namespace headroom
