// Of the card that a run is on. No torch here.
#pragma once

#include <string>

#include "train/spec.h"

namespace headroom {

// "9.0"; so too of a card that is only known as "cuda".
std::string compute_capability(const RunSpec& spec);

}  // namespace headroom
