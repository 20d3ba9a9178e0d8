#include "train/kernels/operations/operation_settings.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "train/kernels/region_settings.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

using nlohmann::json;

// The width of a block: null for flat tensors, 0 if it varies.
struct Entry {
  const char* operation;
  json width;
};

bool is_on_cpu(const RunSpec& spec) { return spec.device.kind == DeviceKind::kCpu; }

std::optional<Entry> update_entry(const RunSpec& spec) {
  switch (spec.optimizer) {
    case OptimizerKind::kLion:
      return Entry{"lion", nullptr};
    case OptimizerKind::kAdamMini:
      return Entry{"adam_mini", 0};
    case OptimizerKind::kAdam8bit:
      return Entry{is_on_cpu(spec) ? "adam8bit_moments" : "adam8bit", k8BitBlock};
    case OptimizerKind::kAdamw:
    case OptimizerKind::kSgd:
    case OptimizerKind::kMuon:
      break;
  }
  return std::nullopt;
}

bool updates_here(const RunSpec& spec) {
  return spec.kernels == Kernels::kCompiled && spec.profile_type == Mode::kTraining &&
         !offloads_optimizer(spec);
}

json settings_of(const RunSpec& spec, const Entry& entry) {
  json settings = library_settings(spec);
  settings.update({{"operation", entry.operation},
                   {"width", entry.width},
                   {"sources", HEADROOM_OPERATION_SOURCES}});
  return settings;
}

// The types of the tensors that a step saves for backward.
std::vector<std::string> types_of_activations(const RunSpec& spec) {
  if (spec.precision == Precision::kFp16) return {"float32", "float16"};
  const bool has_bf16 = spec.precision == Precision::kBf16 || spec.weights == WeightType::kBf16;
  return has_bf16 ? std::vector<std::string>{"float32", "bfloat16"}
                  : std::vector<std::string>{"float32"};
}

void add_packing(const RunSpec& spec, std::vector<json>& all) {
  const Activations& form = spec.activations;
  if (spec.kernels != Kernels::kCompiled || !form.encoded() || !builds_graph(spec.profile_type)) {
    return;
  }
  for (const char* const operation : {"pack", "unpack"}) {
    for (const std::string& type : types_of_activations(spec)) {
      if (is_on_cpu(spec) && type != "float16") continue;  // host_codes.h is faster
      json& settings = all.emplace_back(settings_of(spec, {operation, form.block}));
      settings["number_type"] = type;
      settings["code_type"] = form.codes()->type == DType::kInt8 ? "int8" : "uint8";
    }
  }
}

}  // namespace

bool has_compiled_update(const RunSpec& spec) {
  const bool is_fp32 = spec.weights == WeightType::kFp32 ||
                       spec.master_weights == MasterCopy::kFp32 ||
                       spec.rounding == Rounding::kStochastic;
  return updates_here(spec) && is_fp32 && spec.optimizer_impl == OptimizerImpl::kReference &&
         update_entry(spec).has_value();
}

bool has_compiled_rounding(const RunSpec& spec) {
  return updates_here(spec) && spec.rounding == Rounding::kStochastic;
}

std::vector<json> operation_settings(const RunSpec& spec) {
  std::vector<json> all;
  if (has_compiled_update(spec)) all.push_back(settings_of(spec, *update_entry(spec)));
  if (has_compiled_rounding(spec)) all.push_back(settings_of(spec, {"round_to_bf16", nullptr}));
  add_packing(spec, all);
  return all;
}

}  // namespace headroom
