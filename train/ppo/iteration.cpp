#include "train/ppo/iteration.h"

#include <vector>

#include "train/ppo/advantages.h"
#include "train/ppo/losses.h"
#include "train/ppo/token_log_probs.h"

namespace headroom {

using torch::Tensor;

namespace {

constexpr uint64_t kIterationStride = 1'000'003;

Indices part_of(const Indices& all, const Indices& chosen) {
  Indices part;
  for (const int64_t index : chosen) part.push_back(all[static_cast<size_t>(index)]);
  return part;
}

// The passes of some sequences, each by the sequences' numbers in the experience.
std::vector<PassRows> passes_of(const Experience& experience, const Indices& sequences,
                                const PpoSpec& spec) {
  std::vector<PassRows> passes;
  const Indices lengths = part_of(experience.lengths(), sequences);
  for (const Indices& pack : pack_sequences(lengths, spec.max_tokens_per_micro_batch)) {
    passes.push_back(rows_of(experience, part_of(sequences, pack)));
  }
  return passes;
}

std::vector<PassRows> passes_of_all(const Experience& experience, const PpoSpec& spec) {
  Indices all;
  for (int64_t i = 0; i < experience.sequences(); ++i) all.push_back(i);
  return passes_of(experience, all, spec);
}

Tensor chosen_rows(const Tensor& hidden_BSD, const Tensor& positions) {
  return hidden_BSD.flatten(0, 1).index_select(0, positions);
}

Tensor values_at(Transformer& model, const Tensor& hidden_BSD, const Tensor& positions) {
  return model->head(chosen_rows(hidden_BSD, positions)).squeeze(-1).to(torch::kFloat32);
}

TokenLogProbs log_probs_of(Transformer& model, const Tensor& hidden_BSD, const PassRows& rows,
                           const PpoSpec& spec, bool entropy) {
  return token_log_probs(
      chosen_rows(hidden_BSD, rows.positions_T), model->head_weight(), rows.targets_T,
      {.temperature = spec.temperature, .chunk_tokens = spec.chunk_tokens, .entropy = entropy});
}

Tensor all_log_probs(const Experience& experience, Step& step, const PpoSpec& spec) {
  Tensor log_probs_BR = experience.zeros_BR();
  for (const PassRows& rows : passes_of_all(experience, spec)) {
    into(log_probs_BR, rows, step.infer(rows.tokens_BS, [&](Transformer& model, const Tensor& h) {
      return log_probs_of(model, h, rows, spec, /*entropy=*/false).log_probs_T;
    }));
  }
  return log_probs_BR;
}

Tensor all_values(const Experience& experience, Step& step, const PpoSpec& spec) {
  Tensor values_BR = experience.zeros_BR();
  for (const PassRows& rows : passes_of_all(experience, spec)) {
    into(values_BR, rows, step.infer(rows.tokens_BS, [&](Transformer& model, const Tensor& h) {
      return values_at(model, h, rows.positions_T);
    }));
  }
  return values_BR;
}

Tensor model_scores(const Experience& experience, Step& step, const PpoSpec& spec) {
  Tensor scores_B = torch::zeros({experience.sequences()}, experience.zeros_BR().options());
  for (const PassRows& rows : passes_of_all(experience, spec)) {
    const Tensor scores = step.infer(rows.tokens_BS, [&](Transformer& model, const Tensor& h) {
      return values_at(model, h, rows.last_B);
    });
    scores_B.index_copy_(0, rows.sequences_B, scores);
  }
  return scores_B;
}

// Updates, each of the parts of one minibatch. make_part: of a pass and its tokens' weights.
template <typename MakePart>
void train_by(const Experience& experience, Step& step, const PpoSpec& spec, uint64_t seed,
              IterationReport* report, const MakePart& make_part) {
  for (int64_t epoch = 0; epoch < spec.epochs; ++epoch) {
    for (const Indices& minibatch :
         shuffled_minibatches(experience.sequences(), spec.minibatches, seed, epoch)) {
      const Tensor chosen_B =
          torch::tensor(minibatch, torch::kInt64).to(experience.mask_BR.device());
      Tensor weights_BR = experience.zeros_BR();
      weights_BR.index_copy_(
          0, chosen_B,
          token_weights(spec.loss_agg_mode, experience.mask_BR.index_select(0, chosen_B),
                        spec.response_length));
      std::vector<LossPart> parts;
      for (const PassRows& rows : passes_of(experience, minibatch, spec)) {
        parts.push_back(make_part(rows, of_rows(weights_BR, rows)));
      }
      step.run(parts);
      if (report != nullptr) report->micro_batches += static_cast<int64_t>(parts.size());
    }
  }
  step.free_gradients();
}

// Sums of what updates say of themselves, on the device.
struct Sum {
  Tensor total;
  void add(const Tensor& more) { total = total.defined() ? total + more : more; }
  double mean(int64_t updates) const {
    return total.defined() ? total.item<double>() / static_cast<double>(updates) : 0;
  }
};

int64_t updates_of(const PpoSpec& spec) { return spec.epochs * spec.minibatches; }

void report_scores(const Experience& experience, IterationReport* report) {
  report->score = experience.scores_B.mean().item<double>();
  report->response_length = experience.mask_BR.sum(-1).to(torch::kFloat32).mean().item<double>();
  if (experience.reference_log_probs_BR.defined()) {
    const Tensor kl_BR =
        kl_estimate(KlEstimator::kK1, experience.log_probs_BR, experience.reference_log_probs_BR);
    report->kl = masked_mean(kl_BR, experience.mask_BR).item<double>();
  }
  report->reward = experience.rewards_BR.defined()
                       ? experience.rewards_BR.sum(-1).mean().item<double>()
                       : report->score;
}

}  // namespace

void score(Experience& experience, Roles& roles, const PpoSpec& spec) {
  experience.scores_B = roles.reward ? model_scores(experience, *roles.reward, spec)
                                     : roles.rule(experience).to(torch::kFloat32);
  experience.log_probs_BR = all_log_probs(experience, *roles.actor, spec);
  if (roles.reference) {
    experience.reference_log_probs_BR = all_log_probs(experience, *roles.reference, spec);
  }
  const Tensor& mask_BR = experience.mask_BR;
  if (spec.algorithm == PpoAlgorithm::kGrpo) {
    const Tensor advantages_B =
        group_advantages(experience.scores_B, spec.group_size, spec.scale_by_group_std);
    experience.advantages_BR =
        advantages_B.unsqueeze(-1).expand_as(mask_BR).masked_fill(~mask_BR, 0);
    return;
  }
  experience.values_BR = all_values(experience, *roles.critic, spec);
  const Tensor kl_BR = roles.reference ? kl_estimate(spec.kl_estimator, experience.log_probs_BR,
                                                     experience.reference_log_probs_BR)
                                       : experience.zeros_BR();
  experience.rewards_BR = token_rewards(experience.scores_B, kl_BR, spec.kl_coef, mask_BR);
  const Advantages made = generalized_advantages(experience.rewards_BR, experience.values_BR,
                                                 mask_BR, spec.gamma, spec.lambda);
  experience.returns_BR = made.returns_BR.masked_fill(~mask_BR, 0);
  experience.advantages_BR = spec.whiten_advantages ? masked_whiten(made.advantages_BR, mask_BR)
                                                    : made.advantages_BR.masked_fill(~mask_BR, 0);
}

void train_critic(const Experience& experience, Step& critic, const PpoSpec& spec, uint64_t seed,
                  IterationReport* report) {
  Sum losses, clipped;
  train_by(
      experience, critic, spec, seed, nullptr, [&](const PassRows& rows, const Tensor& weights_T) {
        const auto loss = [&, rows, weights_T](Transformer& model, const Tensor& hidden_BSD) {
          const ValueLoss made = clipped_value_loss(
              values_at(model, hidden_BSD, rows.positions_T), of_rows(experience.values_BR, rows),
              of_rows(experience.returns_BR, rows), weights_T, spec.value_clip);
          losses.add(made.loss.detach());
          clipped.add(made.clip_fraction);
          return spec.value_coef * made.loss;
        };
        return LossPart{rows.tokens_BS, loss};
      });
  if (report == nullptr) return;
  report->value_loss = losses.mean(updates_of(spec));
  report->value_clip_fraction = clipped.mean(updates_of(spec));
}

void train_actor(const Experience& experience, Step& actor, const PpoSpec& spec, uint64_t seed,
                 IterationReport* report) {
  Sum losses, clipped, moved, entropies;
  const bool grpo = spec.algorithm == PpoAlgorithm::kGrpo;
  const auto loss_of = [&](Transformer& model, const Tensor& hidden_BSD, const PassRows& rows,
                           const Tensor& weights_T) {
    const TokenLogProbs now = log_probs_of(model, hidden_BSD, rows, spec, /*entropy=*/true);
    const PolicyLoss policy =
        clipped_policy_loss(now.log_probs_T, of_rows(experience.log_probs_BR, rows),
                            of_rows(experience.advantages_BR, rows), weights_T, spec.clip);
    Tensor loss = policy.loss;
    const Tensor minus_entropy = entropy_loss(now.entropy_T, weights_T);
    if (spec.entropy_coef != 0) loss = loss + spec.entropy_coef * minus_entropy;
    if (grpo && spec.kl_coef != 0) {
      loss = loss + kl_loss(now.log_probs_T, of_rows(experience.reference_log_probs_BR, rows),
                            weights_T, spec.kl_coef);
    }
    losses.add(policy.loss.detach());
    clipped.add(policy.clip_fraction);
    moved.add(policy.approx_kl);
    entropies.add(-minus_entropy.detach());
    return loss;
  };
  train_by(
      experience, actor, spec, seed, report, [&](const PassRows& rows, const Tensor& weights_T) {
        return LossPart{rows.tokens_BS,
                        [&loss_of, rows, weights_T](Transformer& model, const Tensor& hidden_BSD) {
                          return loss_of(model, hidden_BSD, rows, weights_T);
                        }};
      });
  if (report == nullptr) return;
  report->updates = updates_of(spec);
  report->policy_loss = losses.mean(report->updates);
  report->clip_fraction = clipped.mean(report->updates);
  report->approx_kl = moved.mean(report->updates);
  report->entropy = entropies.mean(report->updates);
}

IterationReport run_iteration(const PpoSpec& spec, Roles& roles, const Prompts& prompts,
                              int64_t number, const Generate& generate,
                              const IterationListener& listener) {
  const uint64_t seed =
      static_cast<uint64_t>(spec.seed) + static_cast<uint64_t>(number) * kIterationStride;
  const auto in_phase = [&](const std::string& name, const auto& run) {
    if (listener.before_phase) listener.before_phase(name);
    const StepScope phase(listener.scopes, {ScopeKind::kPhase, name});
    run();
  };
  IterationReport report;
  Experience experience;
  in_phase("generation", [&] {
    experience = generate(*roles.actor, repeated(prompts, spec.group_size), spec, seed);
    experience.claim_all(listener.claims);
  });
  in_phase("scoring", [&] {
    score(experience, roles, spec);
    experience.claim_all(listener.claims);
    report_scores(experience, &report);
  });
  in_phase("training", [&] {
    if (roles.critic) train_critic(experience, *roles.critic, spec, seed, &report);
    train_actor(experience, *roles.actor, spec, seed, &report);
  });
  return report;
}

}  // namespace headroom
