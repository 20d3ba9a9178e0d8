#include "model/config.h"

#include <algorithm>
#include <stdexcept>

#include "text/words.h"

namespace headroom {

const std::vector<ModelConfig>& named_configs() {
  // name, d_model, d_ff, layers, heads, kv_heads, vocab_size, rope_theta, norm_eps, max_context.
  // The last four: Llama 2 (arXiv 2307.09288) and Llama 3.1 (arXiv 2407.21783).
  static const std::vector<ModelConfig> kConfigs = {
      {"small", 768, 3072, 12, 12, 12, 10000},
      {"medium", 1024, 4096, 24, 16, 16, 10000},
      {"large", 1280, 5120, 36, 20, 20, 10000},
      {"xl", 1600, 6400, 48, 25, 25, 10000},
      {"2.7B", 2560, 10240, 32, 32, 32, 10000},
      {"10B", 4608, 12288, 50, 36, 36, 10000},
      {"7b", 4096, 11008, 32, 32, 32, 128000, 10000, 1e-5, 4096},
      {"13b", 5120, 13824, 40, 40, 40, 128000, 10000, 1e-5, 4096},
      {"70b", 8192, 28672, 80, 64, 8, 128000, 10000, 1e-5, 131072},
      {"405b", 16384, 53248, 126, 128, 8, 128000, 10000, 1e-5, 131072},
  };
  return kConfigs;
}

const ModelConfig* find_config(std::string_view name) {
  const auto& configs = named_configs();
  const auto it = std::find_if(configs.begin(), configs.end(),
                               [&](const ModelConfig& config) { return config.name == name; });
  return it == configs.end() ? nullptr : &*it;
}

std::vector<Dimension> dimensions_of(const ModelConfig& config) {
  std::vector<Dimension> all;
  for (const Dimension& dimension : kDimensions) {
    if (config.*dimension.size != 0) all.push_back(dimension);
  }
  return all;
}

std::vector<std::string> layer_switches_of(const ModelConfig& config) {
  std::vector<std::string> labels;
  for (const LayerSwitch& layer : kLayerSwitches) {
    if (config.*layer.on) labels.emplace_back(layer.label);
  }
  return labels;
}

bool same_shape(const ModelConfig& a, const ModelConfig& b) {
  const auto same_size = [&](const Dimension& one) { return a.*one.size == b.*one.size; };
  const auto same_layer = [&](const LayerSwitch& one) { return a.*one.on == b.*one.on; };
  return std::all_of(kDimensions.begin(), kDimensions.end(), same_size) &&
         std::all_of(kLayerSwitches.begin(), kLayerSwitches.end(), same_layer);
}

int64_t size_of_letter(char letter, const ModelConfig& config) {
  if (letter == 'K') return config.head_dim();
  for (const Dimension& dimension : kDimensions) {
    if (dimension.letter == letter) return config.*dimension.size;
  }
  return 0;
}

namespace {

void check_positive(const char* name, int64_t value) {
  if (value <= 0) {
    throw std::invalid_argument("--" + with_dashes(name) + ": " + std::to_string(value) +
                                " is not a positive whole number");
  }
}

}  // namespace

void validate(const ModelConfig& config) {
  for (const Dimension& dimension : kDimensions) {
    const bool is_given = dimension.size != &ModelConfig::head_size || config.head_size != 0;
    if (is_given) check_positive(dimension.name, config.*dimension.size);
  }
  check_positive("outputs", config.head_outputs());
  if (config.head_size == 0 && config.d_model % config.heads != 0) {
    throw std::invalid_argument("--heads: " + std::to_string(config.heads) +
                                " does not divide the model width --d-model " +
                                std::to_string(config.d_model));
  }
  if (config.head_dim() % 2 != 0) {
    const bool is_given = config.head_size != 0;
    throw std::invalid_argument(
        (is_given ? "--head-dim: " : "--heads: ") +
        std::to_string(is_given ? config.head_size : config.heads) +
        (is_given ? " is odd"
                  : " leaves a head dimension of " + std::to_string(config.head_dim())) +
        "; rotary positions need an even one");
  }
  if (config.heads % config.kv_heads != 0) {
    throw std::invalid_argument("--kv-heads: " + std::to_string(config.kv_heads) +
                                " does not divide --heads " + std::to_string(config.heads));
  }
}

}  // namespace headroom
