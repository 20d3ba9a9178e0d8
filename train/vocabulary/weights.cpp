#include "train/vocabulary/weights.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "text/words.h"

namespace headroom {

const std::vector<StatePrecision>& state_precisions() {
  // name, compute, weight, gradient, master, moment, cast, low
  static const std::vector<StatePrecision> kPrecisions = {
      {"bf16-mixed", Precision::kBf16, 2, 2, 4, 4, 0, 2,
       "BF16 weights and gradients, FP32 master weights and moments"},
      {"fp16-mixed", Precision::kFp16, 2, 2, 4, 4, 0, 2,
       "FP16 weights and gradients, FP32 master weights and moments"},
      {"bf16-fp32-grads", Precision::kBf16, 2, 4, 4, 4, 0, 2,
       "BF16 weights, FP32 gradients, master weights and moments, as Megatron-LM"},
      {"bf16-pure", Precision::kBf16, 2, 2, 0, 2, 0, 2,
       "BF16 weights, gradients and moments, no master weights"},
      {"bf16", Precision::kBf16, 4, 4, 0, 4, 2, 2,
       "autocast to BF16: FP32 weights, gradients and moments, cached casts"},
      {"fp16", Precision::kFp16, 4, 4, 0, 4, 2, 2,
       "autocast to FP16: FP32 weights, gradients and moments, cached casts"},
      {"fp32", Precision::kFp32, 4, 4, 0, 4, 0, 4, "FP32 weights, gradients and moments"},
      {"tf32", Precision::kTf32, 4, 4, 0, 4, 0, 4, "FP32 states, TF32 matrix products"},
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

std::string states_in_words(const StatePrecision& precision, OptimizerKind optimizer) {
  constexpr int64_t kMany = 1 << 20;  // whole blocks of scales
  const auto state = static_cast<double>(optimizer_state_bytes(optimizer, kMany, precision.moment));
  const double bytes = static_cast<double>(precision.weight + precision.gradient) +
                       static_cast<double>(precision.master) + state / kMany;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", bytes);
  std::string words = precision.in_words + ": " + text.data();
  if (precision.cast > 0) words += " + " + std::to_string(precision.cast);
  return words + " bytes per parameter";
}

}  // namespace headroom
