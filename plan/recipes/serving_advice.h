// Advice after a serving engine refused to start. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "plan/recipes/serving.h"

namespace headroom {

// "--max-len 23456", for an error line; "" = nothing is known. refusal: the engine's own;
// parameters: of the model, 0 = unknown; card_bytes: of each card. A length is the engine's own
// estimate; a number of cards is the fewest that hold 16-bit weights.
std::string what_would_work(const std::string& refusal, const Serving& serving, int64_t parameters,
                            int64_t card_bytes);

}  // namespace headroom
