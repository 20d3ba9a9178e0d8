#include "plan/recipes/own_shape.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/recipes/model_shape.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;

// RMSNorm, SwiGLU, rotary positions and no norm of queries and keys. phi3 keeps q, k and v in one
// matrix, and gate and up: as many numbers.
const std::vector<std::string> kOwnTypes = {"llama", "mistral", "phi3"};

void refuse(const std::string& word, const std::string& field, const std::string& what) {
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

void check_kind(const std::string& word, const json& config) {
  const std::string type = config.value("model_type", "");
  if (std::find(kOwnTypes.begin(), kOwnTypes.end(), type) == kOwnTypes.end()) {
    refuse(word, "model_type '" + type + "'", "such layers; it computes " + join(kOwnTypes));
  }
  if (is_set(config, "tie_word_embeddings")) refuse(word, "tie_word_embeddings", "tied embeddings");
  for (const char* name : {"attention_bias", "mlp_bias"})
    if (is_set(config, name)) refuse(word, name, "biases");
  if (is_set(config, "sliding_window")) refuse(word, "a sliding_window", "sliding windows");
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
  check_kind(word, config);
  ModelConfig own{.name = "custom"};
  own.d_model = size_in(word, config, "hidden_size");
  own.d_ff = size_in(word, config, "intermediate_size");
  own.layers = size_in(word, config, "num_hidden_layers");
  own.heads = size_in(word, config, "num_attention_heads");
  own.kv_heads = size_in(word, config, "num_key_value_heads", own.heads);
  own.vocab_size = size_in(word, config, "vocab_size");
  const int64_t head = size_in(word, config, "head_dim", std::max<int64_t>(own.head_dim(), 1));
  if (head * own.heads != own.d_model) {
    refuse(word, "head_dim " + std::to_string(head),
           "heads of another size than hidden_size / num_attention_heads");
  }
  return own;
}

}  // namespace headroom
