// A PPO run from flags and a file. No torch here.
#pragma once

#include <vector>

#include "cli/flags/flags.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

std::vector<Flag> ppo_flags();

// With a resolved device. Throws UsageError; the run is valid.
PpoRun ppo_run_from(const Arguments& arguments);

}  // namespace headroom
