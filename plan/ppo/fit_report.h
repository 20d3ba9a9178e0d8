// Tables of `headroom fit --workload ppo`. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cards/cards.h"
#include "plan/ppo/cheapest.h"
#include "text/table.h"

namespace headroom {

// "headroom ppo --model-size 7b ...": every setting that is not the default. For a shell.
std::string ppo_command(const PpoRun& run);

// The answer phase by phase, and the cheaper set that was compared; or the shortage.
std::vector<Table> ppo_fit_report(const PpoFit& fit, const Card& card);

}  // namespace headroom
