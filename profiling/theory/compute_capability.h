// The compute capability of a run's card. No torch here.
#pragma once

#include <string>

#include "train/settings/spec.h"

namespace headroom {

// "9.0"; also for a card only known as "cuda".
std::string compute_capability(const RunSpec& spec);

}  // namespace headroom
