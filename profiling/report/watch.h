// What steps leave behind, as tables. No torch here.
#pragma once

#include <vector>

#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// The live bytes after each step and what grows in them; none of a Record that was not watched.
std::vector<Table> watch_tables(const Record& record);

// What each of the allocator's settings makes of the peak. The first Record is of the setting that
// was asked for.
Table settings_table(const std::vector<Record>& records);

}  // namespace headroom
