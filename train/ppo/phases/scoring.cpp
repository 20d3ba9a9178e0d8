#include "train/ppo/phases/scoring.h"

#include "train/ppo/losses/advantages.h"
#include "train/ppo/phases/passes.h"

namespace headroom {

using torch::Tensor;

namespace {

std::vector<PassRows> passes_of_all(const Experience& experience, const PpoSpec& spec) {
  return passes_of(experience, all_sequences(experience), spec.max_tokens_per_micro_batch);
}

Tensor all_log_probs(const Experience& experience, Step& step, const PpoSpec& spec) {
  Tensor log_probs_BR = experience.zeros_BR();
  for (const PassRows& rows : passes_of_all(experience, spec)) {
    const LossOfOutput use = [&](Transformer& model, const Tensor& hidden_1ND) {
      return log_probs_of(model, hidden_1ND, rows, log_prob_options(spec, /*entropy=*/false))
          .log_probs_T;
    };
    into(log_probs_BR, rows, step.infer(rows.tokens_1S, use, rows.pass.get()));
  }
  return log_probs_BR;
}

Tensor all_values(const Experience& experience, Step& step, const PpoSpec& spec) {
  Tensor values_BR = experience.zeros_BR();
  for (const PassRows& rows : passes_of_all(experience, spec)) {
    into(values_BR, rows, step.infer(rows.tokens_1S, values_of, rows.pass.get()));
  }
  return values_BR;
}

Tensor model_scores(const Experience& experience, Step& step, const PpoSpec& spec) {
  Tensor scores_B = torch::zeros({experience.sequences()}, experience.zeros_BR().options());
  for (const PassRows& rows : passes_of_all(experience, spec)) {
    scores_B.index_copy_(0, rows.sequences_B,
                         step.infer(rows.tokens_1S, values_of, rows.ends.get()));
  }
  return scores_B;
}

// Gives each token the advantage from its group's scores.
void add_group_advantages(Experience& experience, const PpoSpec& spec) {
  const Tensor& mask_BR = experience.mask_BR;
  const Tensor advantages_B =
      group_advantages(experience.scores_B, spec.group_size, spec.scale_by_group_std);
  experience.advantages_BR = advantages_B.unsqueeze(-1).expand_as(mask_BR).masked_fill(~mask_BR, 0);
}

void add_generalized_advantages(Experience& experience, const PpoSpec& spec) {
  const Tensor& mask_BR = experience.mask_BR;
  const Tensor kl_BR = experience.reference_log_probs_BR.defined()
                           ? kl_estimate(spec.kl_estimator, experience.log_probs_BR,
                                         experience.reference_log_probs_BR)
                           : experience.zeros_BR();
  experience.rewards_BR = token_rewards(experience.scores_B, kl_BR, spec.kl_coef, mask_BR);
  const Advantages made = generalized_advantages(experience.rewards_BR, experience.values_BR,
                                                 mask_BR, spec.gamma, spec.lambda);
  experience.returns_BR = made.returns_BR.masked_fill(~mask_BR, 0);
  experience.advantages_BR = spec.whiten_advantages ? masked_whiten(made.advantages_BR, mask_BR)
                                                    : made.advantages_BR.masked_fill(~mask_BR, 0);
}

}  // namespace

LogProbOptions log_prob_options(const PpoSpec& spec, bool entropy) {
  return {.temperature = spec.temperature, .chunk_tokens = spec.chunk_tokens, .entropy = entropy};
}

void score(Experience& experience, Roles& roles, const PpoSpec& spec) {
  experience.scores_B = roles.reward ? model_scores(experience, *roles.reward, spec)
                                     : roles.rule(experience).to(torch::kFloat32);
  experience.log_probs_BR = all_log_probs(experience, *roles.actor, spec);
  if (roles.reference) {
    experience.reference_log_probs_BR = all_log_probs(experience, *roles.reference, spec);
  }
  if (spec.algorithm == PpoAlgorithm::kGrpo) {
    add_group_advantages(experience, spec);
    return;
  }
  experience.values_BR = all_values(experience, *roles.critic, spec);
  add_generalized_advantages(experience, spec);
}

}  // namespace headroom
