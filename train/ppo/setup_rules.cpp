// What contradicts itself in a set-up of an iteration.
#include <algorithm>

#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"
#include "train/ppo/role_rules.h"
#include "train/ppo/setup.h"

namespace headroom {
namespace {

// Of a step that generates: what only a backward or an update has is not looked at.
RunSpec as_generation(RunSpec spec) {
  const RunSpec defaults;
  spec.profile_type = Mode::kGenerate;
  spec.checkpoint = defaults.checkpoint;
  spec.activations = defaults.activations;
  spec.optimizer_offload = {};
  spec.max_grad_norm = 0;
  spec.release_gradients = false;
  return spec;
}

void check_size(const std::string& flag, const std::string& size, bool may_be_none) {
  if (size.empty()) return;
  std::vector<std::string> words;
  if (may_be_none) words.emplace_back("none");
  for (const ModelConfig& config : named_configs()) words.push_back(config.name);
  check_name(flag, size, words, flag + " small");
}

// Values and scores read tokens of the actor's vocabulary.
void check_vocabulary(const RunSpec& shared, const RunSpec& other, Role role) {
  const int64_t actors = model_config(shared).vocab_size;
  const int64_t others = model_config(other).vocab_size;
  if (actors == others) return;
  throw UsageError("--" + word_of(role) + "-size", other.model_size,
                   "has a vocabulary of " + std::to_string(others) + ", the actor's has " +
                       std::to_string(actors) + "; allowed: a shape with that one",
                   "--" + word_of(role) + "-size " + shared.model_size);
}

// The published model was trained for so many tokens, whatever --context-length says.
void check_context(const RunSpec& shared, const ModelConfig& model) {
  const int64_t tokens = sequence_tokens(shared);
  if (model.max_context == 0 || tokens <= model.max_context) return;
  throw UsageError("--response-len", std::to_string(response_tokens(shared)),
                   "after a prompt of " + std::to_string(prompt_tokens(shared)) +
                       " is beyond the context of " + model.name +
                       "; allowed: " + std::to_string(model.max_context) + " tokens together",
                   "--prompt-len 1024 --response-len 1024");
}

void check_role(const RunSpec& shared, const PpoSetup& setup, Role role) {
  const RunSpec spec = spec_of_role(shared, setup, role);
  try {
    if (role == Role::kActor) validate(as_generation(spec));
    validate(role_spec(role, spec));
    validate_role(role, spec, ppo_spec_of(shared, setup), prompt_tokens(shared));
  } catch (const UsageError& error) {
    throw UsageError(said_of_role(error.what(), role, setup));
  }
  check_context(shared, model_config(spec));
  if (gives_values(role)) check_vocabulary(shared, spec, role);
}

void check_groups(const RunSpec& shared, const PpoSetup& setup) {
  if (shared.batch_size % std::max<int64_t>(setup.ppo.group_size, 1) == 0) return;
  throw UsageError("--group-size", std::to_string(setup.ppo.group_size),
                   "does not divide --batch-size " + std::to_string(shared.batch_size) +
                       ", the sequences of an iteration",
                   "--batch-size 8 --group-size 4");
}

void check_tokens(const RunSpec& shared, const PpoSetup& setup) {
  const int64_t vocabulary = model_config(shared).vocab_size;
  if (setup.reward_token >= vocabulary) {
    throw UsageError("--reward-token", std::to_string(setup.reward_token),
                     "is no token of a vocabulary of " + std::to_string(vocabulary) +
                         "; allowed: 0 to " + std::to_string(vocabulary - 1),
                     "--reward-token 0");
  }
  const int64_t budget = setup.ppo.max_tokens_per_micro_batch;
  const int64_t longest = sequence_tokens(shared);
  if (budget == 0 || budget >= longest) return;
  const std::string least = std::to_string(longest);
  throw UsageError(
      "--max-tokens-per-micro-batch", std::to_string(budget),
      "is below a sequence of " + least + " tokens; allowed: 0, or " + least + " and more",
      "--max-tokens-per-micro-batch " + least);
}

}  // namespace

void validate(const RunSpec& shared, const PpoSetup& setup) {
  check_size("--critic-size", setup.critic_size, /*may_be_none=*/false);
  check_size("--reward-size", setup.reward_size, /*may_be_none=*/true);
  check_groups(shared, setup);
  validate(ppo_spec_of(shared, setup));
  for (const Role role : roles_of(setup)) check_role(shared, setup, role);
  check_tokens(shared, setup);
}

}  // namespace headroom
