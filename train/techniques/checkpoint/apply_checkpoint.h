#pragma once

#include "train/build_request.h"
#include "train/step.h"

namespace headroom {

// --recompute: wraps groups of blocks, or the core of each attention. The step opens a block's
// scope inside the wrapper.
void apply_checkpoint(const BuildRequest& request, Step& step);

}  // namespace headroom
