// An iteration of PPO from flags and a file. No torch here.
#pragma once

#include <vector>

#include "cli/flags/flags.h"
#include "train/ppo/setup.h"

namespace headroom {

std::vector<Flag> ppo_flags();

struct PpoRequest {
  RunSpec shared;  // the actor's, its device settled
  PpoSetup setup;
};

// Throws UsageError; the request is valid.
PpoRequest ppo_request_from(const Arguments& arguments);

}  // namespace headroom
