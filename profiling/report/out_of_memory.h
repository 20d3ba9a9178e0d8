// The moment memory ran out. No torch here.
#pragma once

#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// Of one whose allocator tells the figures.
Table out_of_memory_table(const OutOfMemory& moment);
// Of one whose components are known, the largest first.
Table live_table(const OutOfMemory& moment);

}  // namespace headroom
