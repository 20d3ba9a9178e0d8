// Tables of `headroom ppo`: computed beside measured. No torch here.
#pragma once

#include <optional>
#include <vector>

#include "plan/ppo/computed.h"
#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

// For a Record of an iteration: the phases, each phase's measured and computed components, and the
// iterations' results. A failed run has fewer tables.
std::vector<Table> ppo_report(const Record& record,
                              const std::optional<ComputedIteration>& computed);

}  // namespace headroom
