#include <algorithm>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/ppo/losses.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

ShapeTensor inside(const ShapeTensor& values, const ShapeTensor& mask) {
  return masked_fill(values, comparison(mask));  // ~mask
}

ShapeTensor token_rewards(const ShapeTensor& scores_B, const ShapeTensor& kl_BR,
                          const ShapeTensor& mask_BR) {
  Run& run = *mask_BR.run;
  const ShapeTensor rewards_BR = inside(mul_scalar(kl_BR), mask_BR);
  const Dims column = {mask_BR.size(0), 1};
  const ShapeTensor lengths_B1 = empty(run, column, DType::kInt64);
  const ShapeTensor scores_B1 = masked_fill(unsqueeze(scores_B, 1), comparison(lengths_B1));
  const ShapeTensor places_B1 = clamp(add_scalar(lengths_B1));
  return add_scalar(rewards_BR);  // scatter_add()
}

struct ShapeAdvantages {
  ShapeTensor advantages_BR, returns_BR;
};

// A token's numbers are gone when the next one's are made but for its value and advantage.
ShapeAdvantages generalized_advantages(const ShapeTensor& rewards_BR, const ShapeTensor& values_BR,
                                       const ShapeTensor& mask_BR) {
  constexpr int64_t kThatDiffer = 3;
  Run& run = *mask_BR.run;
  const ShapeTensor rewards = inside(rewards_BR, mask_BR);
  const ShapeTensor values = inside(values_BR, mask_BR);
  const ShapeTensor advantages_BR = empty_like(values, values.dtype);
  ShapeTensor advantage_B = empty(run, {mask_BR.size(0)}, DType::kFp32);
  for (int64_t t = 0; t < std::min(mask_BR.size(1), kThatDiffer); ++t) {
    const ShapeTensor delta_B = add(mul_scalar(advantage_B), advantage_B);
    const ShapeTensor carried_B = mul_scalar(mul_scalar(advantage_B));
    advantage_B = add(delta_B, carried_B);
  }
  return {advantages_BR, add(advantages_BR, values)};
}

ShapeTensor masked_mean(const ShapeTensor& values, const ShapeTensor& mask) {
  const ShapeTensor count = sum(mask);
  return div(sum(inside(values, mask)), count);
}

ShapeTensor masked_whiten(const ShapeTensor& values, const ShapeTensor& mask) {
  const ShapeTensor count = sum(mask);
  const ShapeTensor mean = masked_mean(values, mask);
  ShapeTensor variance;
  {
    const ShapeTensor less = add_scalar(count);
    variance = div(sum(inside(pow(sub(values, mean)), mask)), less);
  }
  ShapeTensor whitened;
  {
    const ShapeTensor scale = rsqrt(add_scalar(variance));
    whitened = mul(sub(values, mean), scale);
  }
  return inside(whitened, mask);
}

}  // namespace

ShapeTensor kl_estimate(KlEstimator estimator, const ShapeTensor& log_probs,
                        const ShapeTensor& reference_log_probs) {
  const ShapeTensor log_ratio = sub(reference_log_probs, log_probs);
  switch (estimator) {
    case KlEstimator::kK1:
      return neg(log_ratio);
    case KlEstimator::kK2:
      return div_scalar(pow(log_ratio));
    case KlEstimator::kK3:
      break;
  }
  return sub(add_scalar(exp(log_ratio)), log_ratio);
}

void add_group_advantages(ShapeExperience& experience, const PpoSpec& spec) {
  const ShapeTensor scores =
      view(experience.scores_B, {experience.sequences() / spec.group_size, spec.group_size});
  const ShapeTensor advantages_B = [&] {
    const ShapeTensor centred = sub(scores, mean_last(scores));
    if (!spec.scale_by_group_std) return centred;
    return div(centred, add_scalar(mean_last(scores)));  // std()
  }();
  const ShapeTensor outside = comparison(experience.mask_BR);
  experience.advantages_BR =
      masked_fill(expand(view(advantages_B, {experience.sequences(), 1}), outside.sizes), outside);
}

void add_generalized_advantages(ShapeExperience& experience, const PpoSpec& spec) {
  const ShapeTensor& mask_BR = experience.mask_BR;
  const ShapeTensor kl_BR = experience.reference_log_probs_BR.defined()
                                ? kl_estimate(spec.kl_estimator, experience.log_probs_BR,
                                              experience.reference_log_probs_BR)
                                : experience.zeros_BR();
  experience.rewards_BR = token_rewards(experience.scores_B, kl_BR, mask_BR);
  const ShapeAdvantages made =
      generalized_advantages(experience.rewards_BR, experience.values_BR, mask_BR);
  experience.returns_BR = inside(made.returns_BR, mask_BR);
  experience.advantages_BR = spec.whiten_advantages ? masked_whiten(made.advantages_BR, mask_BR)
                                                    : inside(made.advantages_BR, mask_BR);
}

}  // namespace headroom
