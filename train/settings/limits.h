// Bounds for settings so large that their sums would not fit 64 bits. No torch here.
#pragma once

#include "train/settings/spec.h"

namespace headroom {

// Upper bounds on all sums that theory, a model or a token file computes from the settings. In
// floating point, so that no product of settings can overflow.
struct SumBounds {
  double states = 0;       // bytes: weights, gradients, optimizer, its temporaries, casts
  double activations = 0;  // bytes: all blocks, every save of a tensor counted, and the head
  double tokens = 0;       // read by all steps
};
SumBounds sum_bounds(const RunSpec& spec);

// Throws UsageError if a bound exceeds 2^62, or the dimensions do not fit together.
void check_computable(const RunSpec& spec);

}  // namespace headroom
