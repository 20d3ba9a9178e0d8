#include "plan/recipes/own_shape.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/recipes/model_shape.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;

// Layers of a kind of model that no field of its config.json tells.
struct OwnType {
  const char* name;
  bool qkv_bias = false;
  bool qk_norm = false;
};

// RMSNorm, SwiGLU and rotary positions. phi3 keeps q, k and v in one matrix, and gate and up: as
// many numbers.
constexpr auto kOwnTypes = std::to_array<OwnType>({{.name = "llama"},
                                                   {.name = "mistral"},
                                                   {.name = "phi3"},
                                                   {.name = "qwen2", .qkv_bias = true},
                                                   {.name = "qwen3", .qk_norm = true}});

[[noreturn]] void refuse(const std::string& word, const std::string& field,
                         const std::string& what) {
  throw UsageError("--config", word,
                   "has " + field + ", and headroom's own step has no " + what +
                       "; headroom finetune and headroom dryrun run any model",
                   "--config llama-3.1-8b");
}

bool is_set(const json& config, const char* name) {
  const auto found = config.find(name);
  return found != config.end() && !found->is_null() && *found != json(false);
}

int64_t size_in(const std::string& word, const json& config, const char* name, int64_t other = 0) {
  const auto found = config.find(name);
  if (found != config.end() && found->is_number_integer()) return found->get<int64_t>();
  if (other == 0) {
    throw UsageError("--config", word, std::string("has no field '") + name + "'",
                     "--config llama-3.1-8b");
  }
  return other;
}

const OwnType& own_type(const std::string& word, const json& config) {
  const std::string type = config.value("model_type", "");
  std::vector<std::string> names;
  for (const OwnType& own : kOwnTypes) {
    if (type == own.name) return own;
    names.emplace_back(own.name);
  }
  refuse(word, "model_type '" + type + "'", "such layers; it computes " + join(names));
}

// qwen2 and qwen3 have a window that another field switches on.
bool has_window(const json& config) {
  const bool is_on = !config.contains("use_sliding_window") || is_set(config, "use_sliding_window");
  return is_on && is_set(config, "sliding_window");
}

void check_layers(const std::string& word, const json& config) {
  for (const char* name : {"attention_bias", "mlp_bias"})
    if (is_set(config, name)) refuse(word, name, "biases of all projections");
  if (has_window(config)) refuse(word, "a sliding_window", "sliding windows");
  if (config.value("hidden_act", "silu") != "silu")
    refuse(word, "hidden_act '" + config.value("hidden_act", "") + "'", "other SwiGLU than SiLU's");
  if (config.value("partial_rotary_factor", 1.0) != 1.0)
    refuse(word, "a partial_rotary_factor", "positions in a part of a head");
}

}  // namespace

ModelConfig own_shape(const std::string& word) {
  const ModelShape shape = find_shape(word);
  std::ifstream file(shape.config);
  const json config = json::parse(file);
  const OwnType& type = own_type(word, config);
  check_layers(word, config);
  ModelConfig own{.name = "custom",
                  .tied_embeddings = is_set(config, "tie_word_embeddings"),
                  .qkv_bias = type.qkv_bias,
                  .qk_norm = type.qk_norm};
  own.d_model = size_in(word, config, "hidden_size");
  own.d_ff = size_in(word, config, "intermediate_size");
  own.layers = size_in(word, config, "num_hidden_layers");
  own.heads = size_in(word, config, "num_attention_heads");
  own.kv_heads = size_in(word, config, "num_key_value_heads", own.heads);
  own.vocab_size = size_in(word, config, "vocab_size");
  const int64_t usual = own.head_dim();
  const int64_t head = size_in(word, config, "head_dim", std::max<int64_t>(usual, 1));
  if (head * own.heads != own.d_model) own.head_size = head;
  return own;
}

}  // namespace headroom
