// An iteration on the virtual card that it is asked for, before anything runs. No torch here.
#pragma once

#include "train/ppo/setup/setup.h"

namespace headroom {

// On a virtual card: refuses models that the card cannot hold, and makes the share of the card that
// generation may fill the cache's tokens. On any other device nothing is known here, and the cell
// does it. Throws UsageError.
void settle_on_card(RunSpec& shared, const PpoSetup& setup);

}  // namespace headroom
