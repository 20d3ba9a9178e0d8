#include "plan/ppo/techniques.h"

#include <algorithm>
#include <map>

#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"

namespace headroom {
namespace {

// The batch's tokens, halved down to one sequence.
RunTechnique token_budgets(const PpoRun& base) {
  RunTechnique technique{Technique::kMicroBatches, {}};
  const int64_t sequence = sequence_tokens(base.shared);
  for (int64_t sequences = base.shared.batch_size / 2; sequences > 0; sequences /= 2) {
    const std::string tokens = std::to_string(sequences * sequence);
    technique.levels.push_back(
        {tokens + " tokens a micro-batch", {{"max_tokens_per_micro_batch", tokens}}});
  }
  return technique;
}

bool is_of_iterations(Technique technique) {
  switch (technique) {
    case Technique::kMicroBatches:  // of a step: iterations have their own
    case Technique::kFp8Products:   // packed sequences can have any number of tokens
    case Technique::kOtherOptimizer:
    case Technique::kAllocator:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::vector<RunTechnique> ppo_techniques(const PpoRun& base, const CostOrder& order,
                                         const std::vector<std::string>& typed) {
  std::vector<RunTechnique> known = technique_list(base.shared);
  std::erase_if(known, [](const RunTechnique& one) { return !is_of_iterations(one.technique); });
  known.push_back({Technique::kSwapPhases, {{"swapped phases", {{"swap_phases", "true"}}}}});
  known.push_back(
      {Technique::kReferenceOffload, {{"reference offload", {{"reference", "offload"}}}}});
  known.push_back(token_budgets(base));
  std::vector<std::string> fields = typed;
  for (std::string& name : fields) std::replace(name.begin(), name.end(), '-', '_');
  std::erase_if(known, [&](const RunTechnique& one) { return sets_any(one, fields); });
  return dearest_first(known, order);
}

std::optional<PpoRun> with_techniques(const PpoRun& base,
                                      const std::vector<RunTechnique>& techniques,
                                      const Levels& levels) {
  std::map<std::string, std::string> values;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] == 0) continue;
    if (!add_settings(techniques[i].levels.at(levels[i] - 1), values)) return std::nullopt;
  }
  PpoRun run = base;
  try {
    for (const auto& [name, value] : values) set_by_name(run, name, value);
    validate(run.shared, run.setup);
  } catch (const UsageError&) {
    return std::nullopt;
  }
  return run;
}

std::string in_words(const std::vector<RunTechnique>& techniques, const Levels& levels) {
  std::vector<std::string> words;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (levels[i] > 0) words.push_back(techniques[i].levels.at(levels[i] - 1).name);
  }
  return words.empty() ? "nothing" : join(words);
}

}  // namespace headroom
