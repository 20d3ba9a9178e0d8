#pragma once

#include "train/build_request.h"
#include "train/step.h"

namespace headroom {

// --recompute: wraps groups of blocks, or the core of each attention. The scope of a block is the
// step's own, opened inside them.
void apply_checkpoint(const BuildRequest& request, Step& step);

}  // namespace headroom
