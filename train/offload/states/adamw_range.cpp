#include "train/offload/states/adamw_range.h"

#include <bit>
#include <cassert>
#include <cmath>

namespace headroom {
namespace {

// Inlined into each function that is compiled for a kind of processor.
#define HEADROOM_INLINE [[gnu::always_inline]] inline

HEADROOM_INLINE float widened(float value) { return value; }
HEADROOM_INLINE float widened(uint16_t bf16) {
  return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16);
}

HEADROOM_INLINE void round_to(float value, float& out) { out = value; }
HEADROOM_INLINE void round_to(float value, uint16_t& out) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  out = static_cast<uint16_t>(nan ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

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

void update_baseline(const HostAdamwPart& part, const AdamwFactors& factors, bool first,
                     int64_t begin, int64_t end) {
  update_any(part, factors, first, begin, end);
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void update_avx2(const HostAdamwPart& part, const AdamwFactors& factors,
                                         bool first, int64_t begin, int64_t end) {
  update_any(part, factors, first, begin, end);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void update_avx512(
    const HostAdamwPart& part, const AdamwFactors& factors, bool first, int64_t begin,
    int64_t end) {
  update_any(part, factors, first, begin, end);
}
#endif

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
  assert(processor_has(vectors));
#ifdef __x86_64__
  if (vectors == HostVectors::kAvx512) return update_avx512(part, factors, first, begin, end);
  if (vectors == HostVectors::kAvx2) return update_avx2(part, factors, first, begin, end);
#endif
  update_baseline(part, factors, first, begin, end);
}

}  // namespace headroom
