// What plan/rlhf computes of an iteration that was run. No torch here.
#pragma once

#include <optional>

#include "plan/rlhf/spec.h"
#include "train/ppo/setup.h"

namespace headroom {

// The plan of the same models, batch and techniques on one GPU; nullopt on what is no virtual
// card. What a plan knows nothing of (8-bit activations, offloaded parameters but the
// reference's, packed micro-batches, 8-bit caches' scales) is left out of it: `left_out` names
// each, as a flag.
std::optional<RlhfSpec> computed_spec(const RunSpec& shared, const PpoSetup& setup,
                                      std::vector<std::string>* left_out);

}  // namespace headroom
