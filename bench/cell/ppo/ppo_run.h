// Iterations of PPO measured in this process: a set-up -> Record.
#pragma once

#include "bench/cell/run.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Builds the roles, runs one iteration that is not measured, then `setup.iterations` that are
// (peaks per phase, scores), and one with every allocation recorded: what was live at the fullest
// instant of generation, scoring and training, by role and category. Never throws, as run().
Record run_ppo(const RunSpec& shared, const PpoSetup& setup, const RunOptions& options);

}  // namespace headroom
