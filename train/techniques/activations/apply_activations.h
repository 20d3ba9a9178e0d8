#pragma once

#include "train/build_request.h"
#include "train/step.h"

namespace headroom {

// --activations: compresses or offloads saved activations until backward.
void apply_activations(const BuildRequest& request, Step& step);

}  // namespace headroom
