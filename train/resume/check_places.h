// Checkpoints that a run will load or save, looked at before anything runs. No torch here.
#pragma once

#include "train/spec.h"

namespace headroom {

// The device is settled by now. Throws UsageError, WriteError, one line.
void check_checkpoint_places(const RunSpec& spec);

}  // namespace headroom
