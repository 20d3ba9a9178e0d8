// The largest allocations at a snapshot's peak, for people and for programs. No torch here.
#pragma once

#include <cstddef>
#include <string>

#include "profiling/snapshot/analysis/top.h"
#include "text/table.h"

namespace headroom {

// Not a Table: a row's stack takes several lines. Text shows the ends of a long one, other formats
// all of it.
// width: of the page, in columns; 0 = as wide as needed.
std::string to_string(const PeakReport& report, TableFormat format, size_t width = 0);

}  // namespace headroom
