#include "train/settings/spec.h"

#include <cctype>
#include <nlohmann/json.hpp>

#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"
#include "train/kernels/region_settings.h"
#include "train/kernels/step_graph_rules.h"
#include "train/parallel/rules.h"
#include "train/resume/rules.h"
#include "train/settings/fp8_rules.h"
#include "train/settings/gradient_rules.h"
#include "train/settings/limits.h"

namespace headroom {

std::vector<std::string> model_size_names() {
  std::vector<std::string> names;
  for (const auto& known : named_configs()) names.push_back(known.name);
  names.emplace_back("custom");
  return names;
}

ModelConfig model_config(const RunSpec& spec) {
  ModelConfig config;
  if (spec.model_size != "custom") {
    const ModelConfig* named = find_config(spec.model_size);
    if (named == nullptr) {
      check_name("--model-size", spec.model_size, model_size_names(), "--model-size small");
    }
    config = *named;
  }
  bool changed = false;
  const auto put = [&](int64_t& dimension, int64_t given) {
    if (given == 0 || given == dimension) return;
    dimension = given;
    changed = true;
  };
  // A new head count means new key/value heads too, unless they are given.
  if (spec.heads != 0 && spec.kv_heads == 0) put(config.kv_heads, spec.heads);
  for (const auto& [given, size] : kDimensionSettings) put(config.*size, spec.*given);
  for (const auto& [given, on] : kLayerSettings) {
    changed = changed || config.*on != spec.*given;
    config.*on = spec.*given;
  }
  if (changed) config.name = "custom";
  try {
    validate(config);
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    throw UsageError(
        what +
        (what.starts_with("--head-dim")
             ? " (example: --head-dim 64)"
             : " (example: --d-model 512 --d-ff 2048 --layers 8 --heads 8 --vocab-size 10000)"));
  }
  return config;
}

namespace {

void check_optimizer(const RunSpec& spec) {
  std::vector<std::string> allowed;
  for (const OptimizerImpl impl : info_of(spec.optimizer).implementations) {
    if (impl == spec.optimizer_impl) return;
    allowed.push_back(to_string(impl));
  }
  throw UsageError(
      "--optimizer-impl", to_string(spec.optimizer_impl),
      "does not exist for " + to_string(spec.optimizer) + "; allowed: " + join(allowed),
      "--optimizer-impl " + allowed.front());
}

void check_weights(const RunSpec& spec) {
  const bool bf16 = spec.weights == WeightType::kBf16;
  if (bf16 && spec.precision != Precision::kFp32) {
    throw UsageError("--precision", to_string(spec.precision),
                     "applies to FP32 weights; with --param-dtype bf16 all arithmetic is BF16 and "
                     "nothing is cast; allowed there: fp32 (the default)",
                     "--param-dtype bf16 --master-weights fp32");
  }
  if (!bf16 && spec.master_weights != MasterCopy::kNone) {
    throw UsageError("--master-weights", to_string(spec.master_weights),
                     "is a copy of BF16 weights, and --param-dtype fp32 needs none; allowed: none",
                     "--param-dtype bf16 --master-weights fp32");
  }
  if (spec.rounding == Rounding::kNearest) return;
  if (!bf16 || spec.master_weights != MasterCopy::kNone) {
    throw UsageError(
        "--rounding", to_string(spec.rounding),
        std::string("applies to updates of BF16 weights, and here the optimizer updates FP32 ") +
            (bf16 ? "master weights" : "weights") + "; allowed: nearest",
        "--param-dtype bf16 --rounding stochastic");
  }
}

// Field::beside of every setting that is not at its default.
void check_beside(const RunSpec& spec) {
  static const RunSpec defaults;
  for (const Field& field : fields()) {
    if (field.beside.empty() || field.same(spec, defaults)) continue;
    const std::string given = field.flag() + " " + field.get(spec);
    for (const Beside& beside : field.beside) {
      const Field& other = *find_field(beside.setting);
      const std::string value = other.get(spec);
      if (is_one_of(value, beside.values)) continue;
      throw UsageError(other.flag(), value,
                       "does not run with " + given + "; allowed there: " + join(beside.values),
                       given + " " + other.flag() + (value == "true" ? "=" : " ") +  // a switch
                           beside.values.back());
    }
  }
}

}  // namespace

const StatePrecision& state_precision(const RunSpec& spec) {
  return state_precision(spec.precision, spec.weights, spec.master_weights);
}

std::string precision_in_words(const RunSpec& spec) {
  if (spec.weights == WeightType::kFp32) return in_words(spec.precision);
  const StatePrecision& kept = state_precision(spec);
  return kept.name + ": " + states_in_words(kept, spec.optimizer);
}

void validate(const RunSpec& spec) {
  check_computable(spec);  // checks the dimensions first
  check_optimizer(spec);
  check_weights(spec);
  check_gradient_rules(spec);
  check_mesh(spec);
  check_checkpoints(spec);
  check_fp8(spec);
  check_beside(spec);
  check_compiled_kernels(spec);
  check_step_graph(spec);
  check_generation(spec);
  check_checkpoint(spec.checkpoint, model_config(spec).layers);
  if (spec.precision == Precision::kTf32 && spec.device.kind == DeviceKind::kCpu) {
    throw UsageError("--precision", "tf32",
                     "is arithmetic of NVIDIA cards from compute capability 8.0 on, and the CPU "
                     "rounds nothing; allowed there: fp32, bf16, fp16, fp8",
                     "--precision fp32");
  }
  if (spec.measure_steps + spec.record_steps == 0) {
    throw UsageError("--measure-steps", "0",
                     "with --record-steps 0 leaves nothing to measure; allowed: 1 or more",
                     "--measure-steps 10");
  }
  if (!spec.snapshot.empty() && spec.record_steps == 0) {
    throw UsageError("--record-steps", "0",
                     "records nothing for --snapshot; allowed with it: 1 or more",
                     "--record-steps 1");
  }
}

nlohmann::json to_json(const RunSpec& spec) {
  nlohmann::json json = nlohmann::json::object();
  for (const Field& field : fields()) {
    const std::string text = field.get(spec);
    if (field.numeric() || field.is_switch()) {
      json[field.name] = nlohmann::json::parse(text);
    } else {
      json[field.name] = text;
    }
  }
  return json;
}

RunSpec spec_from_json(const nlohmann::json& json) {
  RunSpec spec;
  for (const Field& field : fields()) {
    const auto it = json.find(field.name);
    if (it == json.end()) continue;
    field.set(spec, it->is_string() ? it->get<std::string>() : it->dump());
  }
  return spec;
}

std::string row_name(const RunSpec& spec) {
  const RunSpec defaults;
  std::string name = spec.model_size + "_ctx" + std::to_string(spec.context_length) + "_" +
                     to_string(spec.profile_type) + "_" + state_precision(spec).name;
  for (const Field& field : fields()) {
    if (!field.changes_result || field.in_name != InName::kIfChanged) continue;
    std::string value = field.get(spec);
    if (value == field.get(defaults)) continue;
    for (char& c : value) {
      if (!isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '-';
    }
    name += "_" + field.name + (field.is_switch() ? "" : "-" + value);
  }
  return name;
}

}  // namespace headroom
