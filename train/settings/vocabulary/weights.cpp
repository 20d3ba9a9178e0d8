#include "train/settings/vocabulary/weights.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "text/words.h"

namespace headroom {

const EnumWords<WeightType>& words_of(WeightType) {
  static const EnumWords<WeightType> kWords = {
      {WeightType::kFp32, "fp32", "FP32 weights and gradients"},
      {WeightType::kBf16, "bf16", "BF16 weights, gradients and activations; nothing is autocast"}};
  return kWords;
}

const EnumWords<MasterCopy>& words_of(MasterCopy) {
  static const EnumWords<MasterCopy> kWords = {
      {MasterCopy::kNone, "none", "the optimizer updates the weights themselves"},
      {MasterCopy::kFp32, "fp32",
       "the optimizer updates an FP32 copy and casts it to the weights"}};
  return kWords;
}

const EnumWords<Rounding>& words_of(Rounding) {
  static const EnumWords<Rounding> kWords = {
      {Rounding::kNearest, "nearest", "to the nearest BF16 number, ties to even"},
      {Rounding::kStochastic, "stochastic", "up or down by chance, right on average"}};
  return kWords;
}

std::string to_string(WeightType type) { return word_of(type); }
std::string to_string(MasterCopy copy) { return word_of(copy); }
std::string to_string(Rounding rounding) { return word_of(rounding); }

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

const StatePrecision& state_precision(Precision precision, WeightType weights, MasterCopy master) {
  // For runs only: its casts are the output head's, which no per-parameter number expresses.
  static const StatePrecision kFp8 = {
      "fp8", Precision::kFp8, 4, 4, 0, 4, 0, 2, "FP32 states, FP8 products, autocast to BF16"};
  if (precision == Precision::kFp8) return kFp8;
  if (weights == WeightType::kFp32) return find_state_precision(to_string(precision));
  return find_state_precision(master == MasterCopy::kFp32 ? "bf16-mixed" : "bf16-pure");
}

std::string states_in_words(const StatePrecision& precision, OptimizerKind optimizer) {
  constexpr int64_t kMany = 1 << 20;  // a square matrix: whole blocks of scales, 1024 rows
  const auto state = static_cast<double>(
      optimizer_state_bytes(optimizer, {.elements = kMany, .blocks = 1 << 10}, precision.moment));
  const double bytes = static_cast<double>(precision.weight + precision.gradient) +
                       static_cast<double>(precision.master) + state / kMany;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", bytes);
  std::string words = precision.in_words + ": " + text.data();
  if (precision.cast > 0) words += " + " + std::to_string(precision.cast);
  return words + " bytes per parameter";
}

}  // namespace headroom
