// What headroom ppo prints, as tables: computed beside measured. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// Of a Record of an iteration: the phases, each phase's components beside what plan/rlhf computes
// of them, and what the iterations came to. Only what there is: a run that failed has fewer.
std::vector<Table> ppo_report(const Record& record);

// What is computed of each phase's peak, in bytes; of those that are: none on a CPU.
std::map<std::string, int64_t> computed_peaks(const Record& record);

}  // namespace headroom
