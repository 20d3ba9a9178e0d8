#include "train/ppo/iteration.h"

#include "text/quantity.h"
#include "train/ppo/losses/advantages.h"
#include "train/ppo/phases/phase_names.h"
#include "train/ppo/phases/scoring.h"
#include "train/settings/device/real_device.h"

namespace headroom {

using torch::Tensor;

namespace {

constexpr uint64_t kIterationStride = 1'000'003;

uint64_t seed_of(const PpoSpec& spec, int64_t iteration) {
  return static_cast<uint64_t>(spec.seed) + static_cast<uint64_t>(iteration) * kIterationStride;
}

void report_scores(const Experience& experience, IterationReport* report) {
  report->score = value_of(experience.scores_B.mean());
  report->response_length = value_of(experience.mask_BR.sum(-1).to(torch::kFloat32).mean());
  if (experience.reference_log_probs_BR.defined()) {
    const Tensor kl_BR =
        kl_estimate(KlEstimator::kK1, experience.log_probs_BR, experience.reference_log_probs_BR);
    report->kl = value_of(masked_mean(kl_BR, experience.mask_BR));
  }
  report->reward = experience.rewards_BR.defined() ? value_of(experience.rewards_BR.sum(-1).mean())
                                                   : report->score;
}

}  // namespace

void validate_roles(const PpoSpec& spec, const Roles& roles) {
  TORCH_CHECK(roles.actor, "an iteration has an actor");
  TORCH_CHECK(roles.reward || roles.rule, "an iteration has a reward model or a rule");
  if (spec.algorithm == PpoAlgorithm::kPpo && !roles.critic) {
    throw UsageError("--algorithm", "ppo", "needs a critic; allowed without one: grpo",
                     "--algorithm grpo --group-size 4");
  }
  if (spec.kl_coef != 0 && !roles.reference) {
    throw UsageError(
        "--kl-coef", std::to_string(spec.kl_coef),
        "weights the distance to a reference model, and there is none; allowed there: 0",
        "--kl-coef 0");
  }
}

IterationReport run_iteration(const PpoSpec& spec, Roles& roles, const Prompts& prompts,
                              int64_t number, const Generate& generate,
                              const IterationListener& listener) {
  validate_roles(spec, roles);
  const uint64_t seed = seed_of(spec, number);
  const auto in_phase = [&](const std::string& name, const auto& run) {
    if (listener.before_phase) listener.before_phase(name);
    const StepScope phase(listener.scopes, {ScopeKind::kPhase, name});
    run();
  };
  IterationReport report;
  Experience experience;
  in_phase(kGenerationPhase, [&] {
    experience = generate(*roles.actor, repeated(prompts, spec.group_size), spec, seed);
    experience.tag_all(listener.tags);
  });
  in_phase(kScoringPhase, [&] {
    score(experience, roles, spec);
    experience.tag_all(listener.tags);
    report_scores(experience, &report);
  });
  in_phase(kTrainingPhase, [&] {
    if (roles.critic) report.critic = train_critic(experience, *roles.critic, spec, seed);
    report.actor = train_actor(experience, *roles.actor, spec, seed);
  });
  return report;
}

}  // namespace headroom
