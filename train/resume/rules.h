// Rules for saving and resuming runs. No torch here.
#pragma once

#include "train/settings/spec.h"

namespace headroom {

// Throws UsageError.
void check_checkpoints(const RunSpec& spec);

}  // namespace headroom
