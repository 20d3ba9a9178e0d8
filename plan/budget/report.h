// Tables of `headroom budget`. No torch here.
#pragma once

#include <vector>

#include "plan/budget/inference_budget.h"
#include "text/table.h"

namespace headroom {

std::vector<Table> budget_report(const EngineSpec& spec);

}  // namespace headroom
