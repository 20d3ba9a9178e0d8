// The moment memory ran out. No torch here.
#pragma once

#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

// For a moment with the allocator's figures.
Table out_of_memory_table(const OutOfMemory& moment);
// For a moment with known components, largest first.
Table live_table(const OutOfMemory& moment);

}  // namespace headroom
