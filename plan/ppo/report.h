// What headroom ppo prints, as tables: computed beside measured. No torch here.
#pragma once

#include <optional>
#include <vector>

#include "plan/ppo/computed.h"
#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// Of a Record of an iteration: the phases, each phase's components beside what is computed of them,
// where it is, and what the iterations came to. Only what there is: a run that failed has fewer.
std::vector<Table> ppo_report(const Record& record,
                              const std::optional<ComputedIteration>& computed);

}  // namespace headroom
