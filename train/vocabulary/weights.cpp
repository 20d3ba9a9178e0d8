#include "train/vocabulary/weights.h"

#include <algorithm>

#include "text/words.h"

namespace headroom {

const std::vector<StatePrecision>& state_precisions() {
  // name, compute, weight, gradient, master, moment, cast, low
  static const std::vector<StatePrecision> kPrecisions = {
      {"bf16-mixed", Precision::kBf16, 2, 2, 4, 4, 0, 2,
       "BF16 weights and gradients, FP32 master weights and moments: 16 bytes per parameter"},
      {"fp16-mixed", Precision::kFp16, 2, 2, 4, 4, 0, 2,
       "FP16 weights and gradients, FP32 master weights and moments: 16 bytes per parameter"},
      {"bf16-fp32-grads", Precision::kBf16, 2, 4, 4, 4, 0, 2,
       "BF16 weights, FP32 gradients, master weights and moments, as Megatron-LM: 18 bytes per "
       "parameter"},
      {"bf16-pure", Precision::kBf16, 2, 2, 0, 2, 0, 2,
       "BF16 weights, gradients and moments, no master weights: 8 bytes per parameter"},
      {"bf16", Precision::kBf16, 4, 4, 0, 4, 2, 2,
       "autocast to BF16: FP32 weights, gradients and moments, cached casts: 16 + 2 bytes per "
       "parameter"},
      {"fp16", Precision::kFp16, 4, 4, 0, 4, 2, 2,
       "autocast to FP16: FP32 weights, gradients and moments, cached casts: 16 + 2 bytes per "
       "parameter"},
      {"fp32", Precision::kFp32, 4, 4, 0, 4, 0, 4,
       "FP32 weights, gradients and moments: 16 bytes per parameter"},
      {"tf32", Precision::kTf32, 4, 4, 0, 4, 0, 4,
       "FP32 states, TF32 matrix products: 16 bytes per parameter"},
  };
  return kPrecisions;
}

std::vector<std::string> state_precision_names() {
  std::vector<std::string> names;
  for (const StatePrecision& known : state_precisions()) names.push_back(known.name);
  return names;
}

const StatePrecision& find_state_precision(std::string_view name) {
  const auto& all = state_precisions();
  check_name("--precision", name, state_precision_names(), "--precision " + all.front().name);
  return *std::find_if(all.begin(), all.end(),
                       [&](const StatePrecision& known) { return known.name == name; });
}

int64_t moment_bytes(const StatePrecision& precision, Moments moments, int64_t elements) {
  if (moments == Moments::kFull) return 2 * precision.moment * elements;
  constexpr int64_t kBlock = 256;
  constexpr int64_t kScale = 4;
  return 2 * (elements + kScale * ((elements + kBlock - 1) / kBlock));
}

}  // namespace headroom
