#include "profiling/theory/rehearsal/ppo/iteration.h"
#include "profiling/theory/rehearsal/ppo/losses.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// Calls `visit` for all sequences, pass after pass.
template <typename Visit>
void for_each_pass(const ShapeExperience& experience, const PpoSpec& spec, const Visit& visit) {
  const std::vector<ShapeRows> passes =
      passes_of(experience, experience.sequences(), spec.max_tokens_per_micro_batch);
  std::vector<int64_t> tokens;
  for (const ShapeRows& rows : passes) tokens.push_back(rows.tokens_1S.size(1));
  for (size_t i = 0; i < passes.size(); ++i) {
    if (!repeats_others(tokens, i)) visit(passes[i]);
  }
}

ShapeTensor all_log_probs(const ShapeExperience& experience, RehearsedStep& step,
                          const PpoSpec& spec) {
  ShapeTensor log_probs_BR = experience.zeros_BR();
  for_each_pass(experience, spec, [&](const ShapeRows& rows) {
    const ShapeOfHidden use = [&](RehearsedModel& model, const ShapeTensor& hidden_1ND) {
      return token_log_probs(squeeze(hidden_1ND, 0), model.head_weight().value, rows.targets_T,
                             spec, /*entropy=*/false)
          .log_probs_T;
    };
    step.infer(rows.tokens_1S, use, *rows.pass);
  });
  return log_probs_BR;
}

ShapeTensor all_values(const ShapeExperience& experience, RehearsedStep& step,
                       const PpoSpec& spec) {
  ShapeTensor values_BR = experience.zeros_BR();
  for_each_pass(experience, spec,
                [&](const ShapeRows& rows) { step.infer(rows.tokens_1S, values_of, *rows.pass); });
  return values_BR;
}

ShapeTensor model_scores(const ShapeExperience& experience, RehearsedStep& step,
                         const PpoSpec& spec) {
  ShapeTensor scores_B = empty(*experience.mask_BR.run, {experience.sequences()}, DType::kFp32);
  for_each_pass(experience, spec,
                [&](const ShapeRows& rows) { step.infer(rows.tokens_1S, values_of, *rows.ends); });
  return scores_B;
}

// Like share_of_token().
ShapeTensor rule_scores(const ShapeExperience& experience) {
  const ShapeRows rows = rows_of(experience, experience.sequences());
  const ShapeTensor hits_BR = experience.zeros_BR();
  {
    const ShapeTensor hits_T = comparison(rows.targets_T);
    const ShapeTensor numbers_T = to(hits_T, DType::kFp32);
  }
  Run& run = *hits_BR.run;
  const Dims sequences = {experience.sequences()};
  ShapeTensor lengths_B = empty(run, sequences, DType::kInt64);
  lengths_B = add_scalar(lengths_B);  // clamp_min()
  const ShapeTensor hits_B = empty(run, sequences, DType::kFp32);
  return empty(run, sequences, DType::kFp32);
}

}  // namespace

ShapeTensor values_of(const RehearsedModel& model, const ShapeTensor& hidden_1ND) {
  const ShapeTensor values_1N1 = model.head(hidden_1ND);
  return to(reshape(values_1N1, {values_1N1.elements()}), DType::kFp32);
}

void score(ShapeExperience& experience, RehearsedRoles& roles, const PpoSpec& spec) {
  experience.scores_B =
      roles.reward ? model_scores(experience, *roles.reward, spec) : rule_scores(experience);
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

void report_scores(const ShapeExperience& experience) {
  if (!experience.reference_log_probs_BR.defined()) return;
  const ShapeTensor kl_BR =
      kl_estimate(KlEstimator::kK1, experience.log_probs_BR, experience.reference_log_probs_BR);
  const ShapeTensor inside = masked_fill(kl_BR, comparison(experience.mask_BR));
}

}  // namespace headroom
