#pragma once

#include "train/build_request.h"
#include "train/step.h"

namespace headroom {

// --activations: the form in which the forward's activations wait for backward.
void apply_activations(const BuildRequest& request, Step& step);

}  // namespace headroom
