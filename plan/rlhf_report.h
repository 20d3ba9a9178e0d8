// What `headroom rlhf` prints, as tables. No torch here.
#pragma once

#include <vector>

#include "plan/rlhf_memory.h"
#include "profiling/table.h"

namespace headroom {

std::vector<Table> rlhf_report(const RlhfSpec& spec);

}  // namespace headroom
