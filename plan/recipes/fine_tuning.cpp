#include "plan/recipes/fine_tuning.h"

#include "plan/recipes/stack.h"

namespace headroom {

std::string packages_of(const FineTuning& tuning) {
  return tuning.stack == "torchtune" ? "torchtune" : "finetune";
}

std::vector<std::string> recipe_words(const FineTuning& tuning, const std::string& python) {
  const FineTuning plain;
  std::vector<std::string> words = {python, recipe_path(tuning.stack + "_recipe.py"), "--config",
                                    tuning.config};
  const auto add = [&](const char* flag, const std::string& value) {
    words.insert(words.end(), {flag, value});
  };
  add("--method", tuning.method);
  if (tuning.rank != plain.rank) add("--rank", std::to_string(tuning.rank));
  if (tuning.targets != plain.targets) add("--targets", tuning.targets);
  add("--batch", std::to_string(tuning.batch));
  add("--length", std::to_string(tuning.length));
  if (tuning.packing) words.emplace_back("--packing");
  if (tuning.precision != plain.precision) add("--precision", tuning.precision);
  if (tuning.checkpointing) words.emplace_back("--checkpointing");
  if (tuning.optimizer != plain.optimizer) add("--optimizer", tuning.optimizer);
  if (tuning.attention != plain.attention) add("--attention", tuning.attention);
  if (tuning.liger) words.emplace_back("--liger");
  if (tuning.zero > 0) {
    add("--zero", std::to_string(tuning.zero));
  } else if (tuning.cards > 1) {
    words.emplace_back("--fsdp");
  }
  return words;
}

std::vector<std::string> launch_words(const FineTuning& tuning, const std::string& python) {
  std::vector<std::string> words = recipe_words(tuning, python);
  if (tuning.cards > 1) {
    const std::vector<std::string> launcher = {"-m", "torch.distributed.run", "--nproc-per-node",
                                               std::to_string(tuning.cards)};
    words.insert(words.begin() + 1, launcher.begin(), launcher.end());
  }
  return words;
}

}  // namespace headroom
