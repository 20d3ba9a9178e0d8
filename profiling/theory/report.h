// The output of `headroom theory`, as tables. No torch here.
#pragma once

#include <vector>

#include "profiling/theory/host/disk_rate.h"
#include "profiling/theory/rows.h"
#include "text/table.h"

namespace headroom {

// Shape and parameters; the residual-stream tensor; one block's saved tensors, row by row; those
// outside the blocks; states; totals of the four modes. disk_rate: of the disk in use.
std::vector<Table> theory_report(const RunSpec& spec, const DiskRate& disk_rate = {});

}  // namespace headroom
