#include "plan/recipes/model_shape.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "plan/recipes/stack.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kExample = "--config llama-3.1-8b";

json read_config(const std::string& typed, const std::string& path) {
  std::ifstream file(path);
  json config = json::parse(file, nullptr, false);
  if (!config.is_object()) {
    throw UsageError("--config", typed, "is no JSON object; allowed: a model's config.json",
                     kExample);
  }
  return config;
}

// A size that transformers would replace by a default of its own, and so answer for another model.
// The second name is GPT-2's.
void check_sizes(const std::string& typed, const json& config) {
  constexpr const char* kNeeded[][2] = {{"model_type", "model_type"},
                                        {"vocab_size", "vocab_size"},
                                        {"hidden_size", "n_embd"},
                                        {"num_hidden_layers", "n_layer"},
                                        {"num_attention_heads", "n_head"}};
  const json& sizes = config.contains("text_config") ? config["text_config"] : config;
  for (const auto& [name, other] : kNeeded) {
    if (sizes.contains(name) || sizes.contains(other)) continue;
    throw UsageError("--config", typed, std::string("has no field '") + name + "'", kExample);
  }
}

int64_t positive(const json& config, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = config.find(name);
    if (found != config.end() && found->is_number_integer()) return found->get<int64_t>();
  }
  return 0;
}

}  // namespace

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(recipe_path("models"))) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

ModelShape find_shape(const std::string& word) {
  ModelShape shape{.name = word, .config = word};
  if (!word.ends_with(".json")) {
    std::error_code none;
    if (word.find('/') != std::string::npos || fs::exists(word, none)) {
      throw UsageError("--config", word,
                       "is neither a known name nor a .json file; weights are not needed, only "
                       "the model's config.json",
                       kExample);
    }
    check_name("--config", word, shape_names(), kExample);
    shape.config = recipe_path("models/" + word + ".json");
  }
  if (!fs::is_regular_file(shape.config)) {
    throw UsageError("--config", word, "does not exist; allowed: a model's config.json or a name",
                     kExample);
  }
  const json config = read_config(word, shape.config);
  check_sizes(word, config);
  const json& sizes = config.contains("text_config") ? config["text_config"] : config;
  shape.parameters = positive(config, {"parameters"});
  shape.most_length = positive(sizes, {"max_position_embeddings", "n_positions"});
  return shape;
}

}  // namespace headroom
