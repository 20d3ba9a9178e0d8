#include "plan/remedies/remedies.h"

#include "bench/launch/preparation/ppo_card.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"
#include "train/ppo/phases/phase_names.h"

namespace headroom {
namespace {

// The possible remedies under this run's settings; empty if one does not apply.
struct Candidates {
  const RunSpec& shared;
  const PpoSetup& setup;

  Remedy swap() const { return {{"swap_phases", "true"}}; }
  Remedy emptied() const { return {{"empty_cache_between_phases", "true"}}; }
  Remedy checkpoint() const { return {{"checkpoint", "full"}}; }
  Remedy activations() const { return {{"activations", "offload"}}; }
  Remedy reference() const {
    const bool there = setup.reference == ReferencePlace::kResident;
    return there ? Remedy{{"reference", "offload"}} : Remedy{};
  }
  Remedy reward() const {
    return setup.reward_size == "none" ? Remedy{} : Remedy{{"reward_param_offload", "cpu"}};
  }
  Remedy optimizer() const { return {{"optimizer_offload", "cpu"}}; }
  Remedy parameters() const { return {{"optimizer_offload", "cpu"}, {"param_offload", "cpu"}}; }
  Remedy states_of_8_bits() const { return {{"optimizer", "adam8bit"}}; }
  Remedy cache_of_8_bits() const { return {{"kv_cache_dtype", "fp8"}}; }
  // One sequence at a time.
  Remedy micro_batches() const {
    const int64_t one = sequence_tokens(shared);
    const int64_t now = setup.ppo.max_tokens_per_micro_batch;
    const bool smaller = now == 0 ? shared.batch_size > 1 : now > one;
    return smaller ? Remedy{{"max_tokens_per_micro_batch", std::to_string(one)}} : Remedy{};
  }
  Remedy logits() const {
    constexpr int64_t kFew = 128;
    return setup.ppo.chunk_tokens > kFew ? Remedy{{"chunk_tokens", std::to_string(kFew)}}
                                         : Remedy{};
  }
  Remedy prefill() const {
    const int64_t prompt = prompt_tokens(shared);
    const int64_t now = shared.prefill_chunk;
    const bool smaller = now == 0 ? shared.batch_size > 1 : now > prompt;
    return smaller ? Remedy{{"prefill_chunk", std::to_string(prompt)}} : Remedy{};
  }
  // Half of the cache, in whole sequences.
  Remedy cache() const {
    RunSpec spec = shared;
    spec.profile_type = Mode::kGenerate;
    const KvCacheShape now = kv_cache_shape(spec);
    const int64_t half = now.at_once() / 2;
    if (half == 0) return {};
    if (setup.gpu_memory_utilization > 0) {
      return {{"gpu_memory_utilization", number_text(setup.gpu_memory_utilization / 2, 3)}};
    }
    const int64_t tokens = now.form == KvCacheForm::kPaged
                               ? half * now.blocks_of_a_sequence() * kKvCacheBlock
                               : half * now.tokens;
    return {{"kv_cache_tokens", std::to_string(tokens)}};
  }

  std::vector<Remedy> in(const OutOfMemory& moment) const {
    if (moment.phase.starts_with(kGenerationPhase)) {
      return {emptied(), swap(),      prefill(),    cache(),          reference(),
              reward(),  optimizer(), parameters(), cache_of_8_bits()};
    }
    if (moment.phase.starts_with(kScoringPhase)) {
      return {emptied(), micro_batches(), swap(),       logits(),          reference(),
              reward(),  optimizer(),     parameters(), states_of_8_bits()};
    }
    if (moment.phase.starts_with(kTrainingPhase)) {
      return {emptied(),   swap(),        checkpoint(), micro_batches(), logits(),
              reference(), activations(), optimizer(),  parameters(),    states_of_8_bits()};
    }
    return {emptied(), swap(),      reference(),
            reward(),  optimizer(), parameters()};  // while models are built
  }
};

}  // namespace

std::string flags_of(const Remedy& remedy) {
  std::string text;
  for (const auto& [name, value] : remedy) {
    text += (text.empty() ? "" : " ") + flag_of_setting(name);
    if (value != "true") text += " " + value;
  }
  return text;
}

std::optional<PpoRun> with(const PpoRun& run, const Remedy& remedy) {
  PpoRun changed = run;
  try {
    for (const auto& [name, value] : remedy) set_by_name(changed, name, value);
    validate(changed.shared, changed.setup);
    settle_on_card(changed.shared, changed.setup);
  } catch (const UsageError&) {
    return std::nullopt;
  }
  const bool changes = to_json(changed.shared) != to_json(run.shared) ||
                       to_json(changed.setup) != to_json(run.setup);
  return changes ? std::optional(std::move(changed)) : std::nullopt;
}

std::vector<Remedy> remedies_for(const PpoRun& run, const OutOfMemory& moment) {
  std::vector<Remedy> found;
  for (const Remedy& remedy : Candidates{run.shared, run.setup}.in(moment)) {
    if (!remedy.empty() && with(run, remedy)) found.push_back(remedy);
  }
  return found;
}

}  // namespace headroom
