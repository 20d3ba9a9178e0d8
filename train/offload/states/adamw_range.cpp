#include "train/offload/states/adamw_range.h"

#include <cmath>

namespace headroom {
namespace {

// Number: the type of gradient and weight, which may be one buffer.
template <typename Number, bool first>
HEADROOM_INLINE void update(const HostAdamwPart& part, const AdamwFactors& factors, int64_t begin,
                            int64_t end) {
  const AdamwFactors k = factors;
  float* const master = part.master;
  float* const m = part.m;
  float* const v = part.v;
  const auto* const gradient = static_cast<const Number*>(part.gradient);
  auto* const weight = static_cast<Number*>(part.weight);
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const float g = k.scale * widened(gradient[i]);
    const float new_m = first ? k.rest1 * g : k.beta1 * m[i] + k.rest1 * g;
    const float new_v = first ? k.rest2 * g * g : k.beta2 * v[i] + k.rest2 * g * g;
    const float p = master[i] * k.kept - k.rate * new_m / (std::sqrt(new_v) + k.eps);
    m[i] = new_m;
    v[i] = new_v;
    master[i] = p;
    round_to(p, weight[i]);
  }
}

HEADROOM_INLINE void update_any(const HostAdamwPart& part, const AdamwFactors& factors, bool first,
                                int64_t begin, int64_t end) {
  if (part.type == HostNumber::kFp32) {
    first ? update<float, true>(part, factors, begin, end)
          : update<float, false>(part, factors, begin, end);
  } else {
    first ? update<uint16_t, true>(part, factors, begin, end)
          : update<uint16_t, false>(part, factors, begin, end);
  }
}

}  // namespace

AdamwFactors adamw_factors(const HostAdamwOptions& options, int64_t step) {
  const auto t = static_cast<double>(step);
  const double rate = options.learning_rate * std::sqrt(1 - std::pow(options.beta2, t)) /
                      (1 - std::pow(options.beta1, t));
  return {.rate = static_cast<float>(rate),
          .kept = static_cast<float>(1 - options.learning_rate * options.weight_decay),
          .beta1 = static_cast<float>(options.beta1),
          .rest1 = static_cast<float>(1 - options.beta1),
          .beta2 = static_cast<float>(options.beta2),
          .rest2 = static_cast<float>(1 - options.beta2),
          .eps = static_cast<float>(options.eps),
          .scale = static_cast<float>(options.gradient_scale)};
}

void update_range(HostVectors vectors, const HostAdamwPart& part, const AdamwFactors& factors,
                  bool first, int64_t begin, int64_t end) {
  run_with(
      vectors, [&]() __attribute__((always_inline)) {
        update_any(part, factors, first, begin, end);
      });
}

}  // namespace headroom
