// The programs of recipes/ that fine-tune a model with the public Python stacks. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// A fine-tuning, as the flags of a recipe. Words as docs/programs/finetune.md lists them.
struct FineTuning {
  std::string config;  // path of a config.json
  std::string stack = "trainer";
  std::string method = "lora";
  int64_t rank = 16;  // of LoRA
  std::string targets = "all-linear";
  int64_t batch = 1;      // sequences per step and card
  int64_t length = 2048;  // tokens per sequence
  bool packing = false;   // rows of tokens share a sequence
  std::string precision = "bf16";
  bool checkpointing = false;
  std::string optimizer = "adamw";
  std::string attention = "sdpa";
  bool liger = false;  // Liger's kernels in place of transformers' layers
  int64_t cards = 1;   // more than one: the weights are sharded over them
  int64_t zero = 0;    // by DeepSpeed's ZeRO of this stage, 2 or 3; 0 = by FSDP2
};

inline const std::vector<std::string> kStacks = {"trainer", "trl", "accelerate", "torchtune"};
inline const std::vector<std::string> kTuningMethods = {"full", "lora", "qlora"};
inline const std::vector<std::string> kTuningPrecisions = {"bf16", "mixed", "fp32"};
inline const std::vector<std::string> kTuningOptimizers = {
    "adamw", "adamw8bit", "paged", "lion", "adafactor", "sgd", "muon"};
inline const std::vector<std::string> kTuningAttentions = {"sdpa", "eager"};

// The name of the stack's Python packages for recipes/install.sh: torchtune's are not those of
// the others, because peft refuses the torchao that torchtune needs.
std::string packages_of(const FineTuning& tuning);

// The command for a machine that has the cards. With several, torchrun starts the program.
std::vector<std::string> launch_words(const FineTuning& tuning, const std::string& python);

// The recipe's program and its arguments, without most of those that equal its defaults.
std::vector<std::string> recipe_words(const FineTuning& tuning, const std::string& python);

}  // namespace headroom
