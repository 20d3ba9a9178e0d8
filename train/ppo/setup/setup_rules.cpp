// Checks an iteration's set-up for contradictions.
#include <algorithm>

#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"
#include "train/ppo/setup/role_rules.h"
#include "train/ppo/setup/setup.h"

namespace headroom {
namespace {

void check_size(const std::string& flag, const std::string& size, bool may_be_none) {
  if (size.empty()) return;
  std::vector<std::string> words = {"actor"};
  if (may_be_none) words.emplace_back("none");
  for (const ModelConfig& config : named_configs()) words.push_back(config.name);
  check_name(flag, size, words, flag + " small");
}

// Critic and reward model read tokens of the actor's vocabulary.
void check_vocabulary(const RunSpec& shared, const RunSpec& other, Role role) {
  const int64_t actors = model_config(shared).vocab_size;
  const int64_t others = model_config(other).vocab_size;
  if (actors == others) return;
  throw UsageError("--" + word_of(role) + "-size", other.model_size,
                   "has a vocabulary of " + std::to_string(others) + ", the actor's has " +
                       std::to_string(actors) + "; allowed: a shape with that one",
                   "--" + word_of(role) + "-size " + shared.model_size);
}

// The published model was trained for this many tokens; --context-length does not change that.
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

// A setting for a role that does not take part would have no effect.
void check_takes_part(const PpoSetup& setup) {
  const std::vector<Role> roles = roles_of(setup);
  for (const auto& [role, settings] : setup.of_role) {
    if (settings.empty() || std::find(roles.begin(), roles.end(), role) != roles.end()) continue;
    const auto& [name, text] = *settings.begin();
    const std::string flag = find_field(name)->flag();
    const bool critic = role == Role::kCritic;
    const std::string why = critic                  ? "--algorithm grpo has none"
                            : role == Role::kReward ? "--reward-size none is a rule"
                                                    : "--reference none has none";
    throw UsageError("--" + word_of(role) + "-" + flag.substr(2), text,
                     "applies to a " + word_of(role) + " model, and " + why + "; allowed: with one",
                     critic                  ? "--algorithm ppo"
                     : role == Role::kReward ? "--reward-size actor"
                                             : "--reference resident");
  }
}

// Two optimizers' states count as two runs' in a directory.
void check_directories(const RunSpec& shared, const PpoSetup& setup) {
  const auto of = [&](Role role) { return spec_of_role(shared, setup, role).optimizer_offload; };
  const std::vector<Role> roles = roles_of(setup);
  if (std::find(roles.begin(), roles.end(), Role::kCritic) == roles.end()) return;
  const Offload actors = of(Role::kActor);
  if (actors.space != MemorySpace::kDisk || actors.directory != of(Role::kCritic).directory) return;
  throw UsageError("--optimizer-offload", to_string(actors),
                   "would contain the states of actor and critic; allowed: a directory for each",
                   "--actor-optimizer-offload nvme:/mnt/a --critic-optimizer-offload nvme:/mnt/c");
}

}  // namespace

void validate(const RunSpec& shared, const PpoSetup& setup) {
  if (shared.mesh.ranks() > 1) {
    throw UsageError("--mesh", to_string(shared.mesh),
                     "applies to steps of one model only; allowed with an iteration of PPO: none",
                     "headroom profile --model-size small --profile-type training --mesh dp=2");
  }
  check_size("--critic-size", setup.critic_size, /*may_be_none=*/false);
  check_size("--reward-size", setup.reward_size, /*may_be_none=*/true);
  check_groups(shared, setup);
  validate(ppo_spec_of(shared, setup));
  check_takes_part(setup);
  for (const Role role : roles_of(setup)) check_role(shared, setup, role);
  check_directories(shared, setup);
  check_tokens(shared, setup);
}

}  // namespace headroom
