// The arithmetic of train/offload/host_adamw.h over some numbers of a part, in the vectors of one
// kind of processor. No torch here.
//
// Note [The same bits on every processor]
// Rationale: weights that a run left on one machine are gone on with on another; what is learnt
//   must not hang on the width of its vectors.
// Approach: one text, compiled for each kind of processor and chosen at run time. Sums, products,
//   quotients and roots are those of IEEE 754, each rounded by itself: -ffp-contract=off keeps the
//   compiler from joining a product and a sum into one, which only some processors could. Each
//   number is a function of its own m, v, p and g: neither the vectors' width nor the number of
//   threads enters.
// Limits: a NaN stays one, but which of its bits are set may differ in FP32 (in BF16 it is 7fc0).
#pragma once

#include <cstdint>

#include "train/offload/host_adamw.h"

namespace headroom {

enum class HostVectors { kBaseline, kAvx2, kAvx512 };  // of 4, 8 and 16 numbers
inline constexpr HostVectors kHostVectors[] = {HostVectors::kBaseline, HostVectors::kAvx2,
                                               HostVectors::kAvx512};

bool processor_has(HostVectors vectors);
HostVectors widest_vectors();

// What one step multiplies by.
struct AdamwFactors {
  float rate;  // lr * sqrt(1 - b2^t) / (1 - b1^t)
  float kept;  // 1 - lr * decay
  float beta1;
  float rest1;  // 1 - b1, rounded once
  float beta2;
  float rest2;
  float eps;
  float scale;  // of the gradients
};
AdamwFactors adamw_factors(const HostAdamwOptions& options, int64_t step);

// Numbers begin to end of `part`. first: m and v are taken to be zeros. The processor must have
// `vectors`.
void update_range(HostVectors vectors, const HostAdamwPart& part, const AdamwFactors& factors,
                  bool first, int64_t begin, int64_t end);

}  // namespace headroom
