#pragma once

#include "train/build_request.h"
#include "train/step.h"
#include "train/update/gradient_sink.h"

namespace headroom {

// The update of a training run, and loss scaling (FP16 with a backward): one optimizer after the
// last backward, behind clipping; one for each parameter inside backward; or the host's. Wraps it
// for BF16 weights: master weights, or stochastic rounding. Returns the update if it takes
// gradients one by one, else null. Throws UsageError.
GradientSink* apply_update(const BuildRequest& request, Step& step);

}  // namespace headroom
