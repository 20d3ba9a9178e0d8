// The fullest instant of a step as a table. No torch here.
#pragma once

#include "profiling/theory/peak.h"
#include "text/table.h"

namespace headroom {

// The memory alive at the fullest instant; the sum is the allocated bytes then.
Table peak_table(const Peak& peak);

}  // namespace headroom
