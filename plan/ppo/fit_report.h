// What `headroom fit --workload ppo` prints, as tables. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cards/cards.h"
#include "plan/ppo/cheapest.h"
#include "text/table.h"

namespace headroom {

// "headroom ppo --model-size 7b ...": every setting that is not the default. For a shell.
std::string ppo_command(const PpoRun& run);

// The answer, phase by phase, and what was held against it; or what is short where nothing fits.
std::vector<Table> ppo_fit_report(const PpoFit& fit, const Card& card);

}  // namespace headroom
