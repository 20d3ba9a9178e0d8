#include "plan/fit/sets/technique_list.h"

#include <algorithm>
#include <optional>
#include <set>

#include "profiling/theory/peak.h"
#include "text/words.h"

namespace headroom {
namespace {

// The divisors of the batch, up to a limit beyond which more parts bring nothing new.
RunTechnique micro_batches(int64_t batch) {
  constexpr int64_t kMost = 4096;
  RunTechnique technique{Technique::kMicroBatches, {}};
  for (int64_t parts = 2; parts <= std::min(batch, kMost); ++parts) {
    if (batch % parts != 0) continue;
    const std::string count = std::to_string(parts);
    technique.levels.push_back({count + " micro-batches", {{"micro_batches", count}}});
  }
  return technique;
}

// Offload to host memory, and if there is a disk into files there.
RunTechnique offload(Technique technique, const std::string& name, const std::string& field,
                     const std::string& disk) {
  RunTechnique offload{technique, {{name, {{field, "cpu"}}}}};
  if (!disk.empty()) offload.levels.push_back({name + " to disk", {{field, "nvme:" + disk}}});
  return offload;
}

// The combined value; nothing if one run cannot have both.
std::optional<std::string> value_of_both(const std::string& field, const std::string& one,
                                         const std::string& other) {
  static const std::set<std::string> kOffloadAndInt8 = {"offload", "int8"};
  if (field == "activations" && std::set<std::string>{one, other} == kOffloadAndInt8) {
    return "offload-int8";
  }
  return std::nullopt;
}

}  // namespace

std::vector<RunTechnique> technique_list(const RunSpec& base, const std::string& disk) {
  return {
      // In training it requires optimizer offload: validate() checks that.
      offload(Technique::kParameterOffload, "parameter offload", "param_offload", disk),
      offload(Technique::kOptimizerOffload, "optimizer offload", "optimizer_offload", disk),
      {Technique::kActivationOffload, {{"offloaded activations", {{"activations", "offload"}}}}},
      {Technique::kOtherOptimizer,
       {{"adam-mini", {{"optimizer", "adam-mini"}}},
        {"lion", {{"optimizer", "lion"}}},
        {"sgd", {{"optimizer", "sgd"}}}}},
      // Autocast needs FP32 weights: these levels set both, and exclude --precision.
      {Technique::kBf16Weights,
       {{"BF16 weights with a master copy",
         {{"weights", "bf16"}, {"master_weights", "fp32"}, {"precision", "fp32"}}},
        {"BF16 weights, stochastic rounding",
         {{"weights", "bf16"}, {"rounding", "stochastic"}, {"precision", "fp32"}}}}},
      {Technique::kFp8Products, {{"FP8 products", {{"precision", "fp8"}}}}},
      // fp8 takes the same bytes and is less accurate. With offload: value_of_both().
      {Technique::kActivations8Bit, {{"int8 activations", {{"activations", "int8"}}}}},
      {Technique::kOptimizer8Bit, {{"adam8bit", {{"optimizer", "adam8bit"}}}}},
      {Technique::kCheckpoint,
       {{"checkpoint selective", {{"checkpoint", "selective"}}},
        {"checkpoint full", {{"checkpoint", "full"}}}}},
      micro_batches(base.batch_size),
      {Technique::kReleaseGradients, {{"released gradients", {{"release_gradients", "true"}}}}},
      {Technique::kBf16Products, {{"BF16 products", {{"precision", "bf16"}}}}},
      {Technique::kFusedAttention, {{"fused attention", {{"attention", "sdpa"}}}}},
      {Technique::kFusedOptimizer, {{"fused optimizer", {{"optimizer_impl", "fused"}}}}},
      {Technique::kAllocator, {{"expandable segments", {{"alloc_conf", kExpandableSegments}}}}},
  };
}

std::vector<RunTechnique> dearest_first(const std::vector<RunTechnique>& techniques,
                                        const CostOrder& order) {
  std::vector<RunTechnique> sorted;
  for (const Technique technique : order.dearest_first()) {
    for (const RunTechnique& one : techniques) {
      if (one.technique == technique) sorted.push_back(one);
    }
  }
  return sorted;
}

bool add_settings(const TechniqueLevel& level, std::map<std::string, std::string>& values) {
  for (const Setting& setting : level.settings) {
    const auto [known, is_new] = values.try_emplace(setting.field, setting.value);
    if (is_new) continue;
    const auto both = value_of_both(setting.field, known->second, setting.value);
    if (!both) return false;
    known->second = *both;
  }
  return true;
}

bool sets_any(const RunTechnique& technique, const std::vector<std::string>& fields) {
  return std::any_of(technique.levels.begin(), technique.levels.end(), [&](const auto& level) {
    return std::any_of(level.settings.begin(), level.settings.end(),
                       [&](const Setting& setting) { return is_one_of(setting.field, fields); });
  });
}

}  // namespace headroom
