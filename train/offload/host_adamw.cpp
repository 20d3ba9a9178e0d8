#include "train/offload/host_adamw.h"

#include <bit>
#include <cmath>

namespace headroom {
namespace {

float widened(uint16_t bf16) { return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16); }

uint16_t rounded(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace

void host_adamw(const HostAdamwPart& part, const HostAdamwOptions& options, int64_t step) {
  const auto t = static_cast<double>(step);
  const auto rate =
      static_cast<float>(options.learning_rate * std::sqrt(1 - std::pow(options.beta2, t)) /
                         (1 - std::pow(options.beta1, t)));
  const auto kept = static_cast<float>(1 - options.learning_rate * options.weight_decay);
  const auto beta1 = static_cast<float>(options.beta1);
  const auto beta2 = static_cast<float>(options.beta2);
  const auto eps = static_cast<float>(options.eps);
  const auto* const wide = static_cast<const float*>(part.gradient);
  const auto* const narrow = static_cast<const uint16_t*>(part.gradient);
  for (int64_t i = 0; i < part.elements; ++i) {
    const float g = part.type == HostNumber::kFp32 ? wide[i] : widened(narrow[i]);
    const float m = beta1 * (step > 1 ? part.m[i] : 0) + (1 - beta1) * g;
    const float v = beta2 * (step > 1 ? part.v[i] : 0) + (1 - beta2) * g * g;
    const float p = part.master[i] * kept - rate * m / (std::sqrt(v) + eps);
    part.m[i] = m;
    part.v[i] = v;
    part.master[i] = p;
    if (part.type == HostNumber::kFp32) {
      static_cast<float*>(part.weight)[i] = p;
    } else {
      static_cast<uint16_t*>(part.weight)[i] = rounded(p);
    }
  }
}

}  // namespace headroom
