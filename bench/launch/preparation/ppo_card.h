// Prepares a PPO iteration for its virtual card, before anything runs. No torch here.
#pragma once

#include "train/ppo/setup/setup.h"

namespace headroom {

// On a virtual card: refuses models that the card cannot hold, and converts the generation's share
// of the card to tokens of the cache. On any other device the card is unknown here, and the cell
// does it. Throws UsageError.
void settle_on_card(RunSpec& shared, const PpoSetup& setup);

}  // namespace headroom
