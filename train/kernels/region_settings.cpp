#include "train/kernels/region_settings.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "files/checksum.h"
#include "text/quantity.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

bool is_budget(const RunSpec& spec) { return spec.checkpoint.kind == CheckpointKind::kBudget; }

[[noreturn]] void refuse_compiled(const std::string& flag, const std::string& value,
                                  const std::string& allowed, const std::string& example) {
  throw UsageError(flag, value, "does not run with --kernels compiled; allowed there: " + allowed,
                   "--kernels compiled " + example);
}

}  // namespace

std::string compiled_cache() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/headroom/kernels";
  const char* const home = std::getenv("HOME");
  return std::string(home == nullptr ? "/tmp" : home) + "/.cache/headroom/kernels";
}

nlohmann::json library_settings(const RunSpec& spec) {
  return {{"device", spec.device.kind == DeviceKind::kCpu ? "cpu" : "cuda"},
          {"card", is_virtual(spec) ? spec.device.card : kOwnCard},
          {"torch", HEADROOM_TORCH_VERSION}};
}

std::vector<nlohmann::json> region_settings(const RunSpec& spec) {
  const ModelConfig config = model_config(spec);
  nlohmann::json shared = library_settings(spec);
  shared.update({
      {"batch", sequences_of_a_pass(spec)},
      {"context", spec.context_length},
      {"d_model", config.d_model},
      {"norm_eps", config.norm_eps},
      {"precision", word_of(spec.precision)},
      {"param_dtype", word_of(spec.weights)},
      {"budget", is_budget(spec) ? static_cast<double>(spec.checkpoint.number) / 100 : 1.0},
      {"sources", HEADROOM_REGION_SOURCES},
  });
  nlohmann::json block = shared;
  block.update({{"region", "block"},
                {"heads", config.heads},
                {"kv_heads", config.kv_heads},
                {"d_ff", config.d_ff},
                {"attention", to_string(spec.attention)}});
  nlohmann::json head = shared;
  head.update({{"region", "head_loss"}, {"vocabulary", config.vocab_size}});
  return {block, head};
}

std::string region_folder(const nlohmann::json& settings) {
  return compiled_cache() + "/" + name_of_compiled(settings) + "-" +
         checksum_text(checksum(settings.dump()));
}

std::string name_of_compiled(const nlohmann::json& settings) {
  return settings.at(settings.contains("region") ? "region" : "operation").get<std::string>();
}

void check_compiled_kernels(const RunSpec& spec) {
  if (spec.kernels != Kernels::kCompiled) {
    if (!is_budget(spec)) return;
    throw UsageError(
        "--recompute", to_string(spec.checkpoint),
        "is a setting of the compiler; allowed: with --kernels compiled",
        "--kernels compiled --device cpu --profile-type training --recompute budget:0.5");
  }
  if (spec.device.kind == DeviceKind::kAuto) {
    refuse_compiled("--device", "auto", "cpu, cuda, cuda:N, virtual:CARD", "--device cpu");
  }
  if (spec.checkpoint.kind == CheckpointKind::kSelective) {
    refuse_compiled("--recompute", "selective", "none, full, every:K, blocks:P%, budget:B",
                    "--recompute budget:0.5");
  }
  if (spec.mesh.size(MeshAxis::kTensor) > 1 || spec.mesh.size(MeshAxis::kPipeline) > 1) {
    refuse_compiled("--mesh", to_string(spec.mesh), "replicas (dp)",
                    "--mesh dp=2 --profile-type training");
  }
}

}  // namespace headroom
