// The programs of recipes/ that fine-tune a model with the public Python stacks. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// A fine-tuning, as the flags of a recipe. Words as docs/finetune.md lists them.
struct FineTuning {
  std::string config;  // path of a config.json
  std::string stack = "trainer";
  std::string method = "lora";
  int64_t rank = 16;  // of LoRA
  std::string targets = "all-linear";
  int64_t batch = 1;      // sequences per step and card
  int64_t length = 2048;  // tokens per sequence
  std::string precision = "bf16";
  bool checkpointing = false;
  std::string optimizer = "adamw";
  std::string attention = "sdpa";
};

inline const std::vector<std::string> kStacks = {"trainer", "trl", "accelerate"};
inline const std::vector<std::string> kTuningMethods = {"full", "lora", "qlora"};
inline const std::vector<std::string> kTuningPrecisions = {"bf16", "mixed", "fp32"};
inline const std::vector<std::string> kTuningOptimizers = {"adamw", "adamw8bit", "paged",
                                                           "lion",  "adafactor", "sgd"};
inline const std::vector<std::string> kTuningAttentions = {"sdpa", "eager"};

// What is known of a model without its weights.
struct ModelShape {
  std::string name;         // "llama-3.1-8b", or the file
  std::string config;       // path of the config.json
  int64_t parameters = 0;   // 0 = unknown
  int64_t most_length = 0;  // positions that the model has; 0 = unknown
};

// A public model's NAME (recipes/models/) or the path of a config.json. Throws UsageError for
// another word (with the nearest name), a file that is no JSON, and a field that is missing.
ModelShape find_shape(const std::string& word);

// The names of the public models, in order.
std::vector<std::string> shape_names();

// The Python with the stacks: $HEADROOM_FINETUNE_PYTHON, or the one that recipes/install.sh made.
// Throws std::runtime_error, one line, if there is none.
std::string stacks_python();

// The recipe's program with its arguments, only those that differ from its defaults.
std::vector<std::string> recipe_words(const FineTuning& tuning, const std::string& python);

}  // namespace headroom
