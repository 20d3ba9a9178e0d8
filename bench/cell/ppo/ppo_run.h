// PPO iterations measured in this process: PpoSetup -> Record.
#pragma once

#include "bench/cell/run.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Builds the roles, then runs a warm-up iteration, `setup.iterations` measured ones (peaks per
// phase, scores), and one with every allocation recorded: the live bytes at the peak of generation,
// scoring and training, by role and category. Never throws, like run().
Record run_ppo(const RunSpec& shared, const PpoSetup& setup, const RunOptions& options);

}  // namespace headroom
