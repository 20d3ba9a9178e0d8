// The arithmetic of train/offload/states/host_adamw.h on a range of a part, for one vector width.
// No torch here.
//
// Note [The same bits on every processor]
// Rationale: a run may continue on another machine from the weights of the first; the result must
//   not depend on the vector width.
// Approach: one source, compiled for each kind of processor and chosen at run time. Sums, products,
//   quotients and roots are those of IEEE 754, each rounded by itself: -ffp-contract=off keeps the
//   compiler from fusing a product and a sum, which only some processors support. Each number
//   depends only on its own m, v, p and g, not on the vector width or the number of threads.
// Limits: a NaN stays one, but its bits may differ in FP32 (in BF16 it is 7fc0).
#pragma once

#include <cstdint>

#include "train/offload/states/host_adamw.h"
#include "train/offload/states/host_vectors.h"

namespace headroom {

// The factors of one step.
struct AdamwFactors {
  float rate;  // lr * sqrt(1 - b2^t) / (1 - b1^t)
  float kept;  // 1 - lr * decay
  float beta1;
  float rest1;  // 1 - b1, rounded once
  float beta2;
  float rest2;
  float eps;
  float scale;  // for the gradients
};
AdamwFactors adamw_factors(const HostAdamwOptions& options, int64_t step);

// Updates numbers begin to end of `part`. first: treats m and v as zeros. The processor must have
// `vectors`.
void update_range(HostVectors vectors, const HostAdamwPart& part, const AdamwFactors& factors,
                  bool first, int64_t begin, int64_t end);

}  // namespace headroom
