// What `headroom theory` prints, as tables. No torch here.
#pragma once

#include <vector>

#include "profiling/theory/host/disk_rate.h"
#include "profiling/theory/rows.h"
#include "text/table.h"

namespace headroom {

// Shape and parameters; the residual-stream tensor; what one block keeps, row by row; what is kept
// outside the blocks; states; totals of the four modes. disk_rate: of the disk on which something
// lies.
std::vector<Table> theory_report(const RunSpec& spec, const DiskRate& disk_rate = {});

}  // namespace headroom
