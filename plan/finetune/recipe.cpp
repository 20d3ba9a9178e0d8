#include "plan/finetune/recipe.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/process/program_folder.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kExample = "--config llama-3.1-8b";

// Beside the program: build/release/lib/recipes of build/release/bin.
fs::path recipes() { return fs::path(folder_above(program_folder())) / "lib" / "recipes"; }

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
  for (const auto& entry : fs::directory_iterator(recipes() / "models")) {
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
    shape.config = (recipes() / "models" / (word + ".json")).string();
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

std::string stacks_python() {
  const char* const given = std::getenv("HEADROOM_FINETUNE_PYTHON");
  if (given != nullptr && *given != '\0') return given;
  const fs::path build = fs::path(folder_above(program_folder())).parent_path();
  std::string python = (build / "stacks" / "finetune" / "bin" / "python").string();
  if (access(python.c_str(), X_OK) != 0) {
    throw std::runtime_error(
        "the Python packages of fine-tuning are not installed: run ./recipes/install.sh, or set "
        "HEADROOM_FINETUNE_PYTHON to a Python with transformers, peft and torch 2.11");
  }
  return python;
}

std::vector<std::string> recipe_words(const FineTuning& tuning, const std::string& python) {
  const FineTuning plain;
  std::vector<std::string> words = {python, (recipes() / (tuning.stack + "_recipe.py")).string(),
                                    "--config", tuning.config};
  const auto add = [&](const char* flag, const std::string& value) {
    words.insert(words.end(), {flag, value});
  };
  add("--method", tuning.method);
  if (tuning.rank != plain.rank) add("--rank", std::to_string(tuning.rank));
  if (tuning.targets != plain.targets) add("--targets", tuning.targets);
  add("--batch", std::to_string(tuning.batch));
  add("--length", std::to_string(tuning.length));
  if (tuning.precision != plain.precision) add("--precision", tuning.precision);
  if (tuning.checkpointing) words.emplace_back("--checkpointing");
  if (tuning.optimizer != plain.optimizer) add("--optimizer", tuning.optimizer);
  if (tuning.attention != plain.attention) add("--attention", tuning.attention);
  return words;
}

}  // namespace headroom
