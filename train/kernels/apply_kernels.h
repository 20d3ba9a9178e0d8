// --kernels compiled, applied to a step.
#pragma once

#include "train/build_request.h"
#include "train/step.h"

namespace headroom {

void apply_kernels(const BuildRequest& request, Step& step);

}  // namespace headroom
