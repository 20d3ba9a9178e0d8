// Sentences beside the figures of a serving engine: what would work after a refusal, and what a
// virtual card does not count. No torch here.
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

// Tokens that the cache of a real card lacks: memory outside torch, by the range of real cards.
std::string not_counted(const EngineMemory& memory);

}  // namespace headroom
