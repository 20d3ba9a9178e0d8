// Checks the checkpoints that a run will load or save, before anything runs. No torch here.
#pragma once

#include "train/settings/spec.h"

namespace headroom {

// Call after the device is resolved. Throws UsageError, WriteError, one line.
void check_checkpoint_places(const RunSpec& spec);

}  // namespace headroom
