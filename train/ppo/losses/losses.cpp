#include "train/ppo/losses/losses.h"

#include "train/ppo/losses/advantages.h"

namespace headroom {

using torch::Tensor;

namespace {

// Values of tokens without weight may be NaN or infinite.
Tensor weighted_sum(const Tensor& of_tokens, const Tensor& weights) {
  return (of_tokens.masked_fill(weights == 0, 0) * weights).sum();
}

}  // namespace

Tensor token_weights(LossAggregation mode, const Tensor& mask_BR, int64_t response_length) {
  const Tensor mask = mask_BR.to(torch::kFloat32);
  const auto sequences = static_cast<double>(mask.size(0));
  switch (mode) {
    case LossAggregation::kTokenMean:
      return mask / mask.sum().clamp_min(1);
    case LossAggregation::kSequenceMean:
      return mask / mask.sum(-1, /*keepdim=*/true).clamp_min(1) / sequences;
    case LossAggregation::kSequenceSumNormed:
      return mask / (sequences * static_cast<double>(response_length));
  }
  TORCH_INTERNAL_ASSERT(false, "no such aggregation");
}

PolicyLoss clipped_policy_loss(const Tensor& log_probs, const Tensor& old_log_probs,
                               const Tensor& advantages, const Tensor& weights, double clip) {
  const Tensor log_ratio = (log_probs - old_log_probs).masked_fill(weights == 0, 0);
  const Tensor ratio = torch::exp(log_ratio);
  const Tensor as_it_is = -advantages * ratio;
  const Tensor clipped = -advantages * ratio.clamp(1 - clip, 1 + clip);
  PolicyLoss made;
  made.loss = weighted_sum(torch::max(as_it_is, clipped), weights);
  const torch::NoGradGuard no_grad;
  made.clip_fraction = weighted_sum((clipped > as_it_is).to(weights.scalar_type()), weights);
  made.approx_kl = weighted_sum(log_ratio.square() / 2, weights);
  return made;
}

ValueLoss clipped_value_loss(const Tensor& values, const Tensor& old_values, const Tensor& returns,
                             const Tensor& weights, double clip) {
  const Tensor as_it_is = (values - returns).square();
  ValueLoss made;
  if (clip == 0) {
    made.loss = 0.5 * weighted_sum(as_it_is, weights);
    made.clip_fraction = torch::zeros({}, values.options().requires_grad(false));
    return made;
  }
  const Tensor near = torch::max(torch::min(values, old_values + clip), old_values - clip);
  const Tensor clipped = (near - returns).square();
  made.loss = 0.5 * weighted_sum(torch::max(as_it_is, clipped), weights);
  const torch::NoGradGuard no_grad;
  made.clip_fraction = weighted_sum((clipped > as_it_is).to(weights.scalar_type()), weights);
  return made;
}

Tensor entropy_loss(const Tensor& entropy, const Tensor& weights) {
  return -weighted_sum(entropy, weights);
}

Tensor kl_loss(const Tensor& log_probs, const Tensor& reference_log_probs, const Tensor& weights,
               double kl_coef) {
  const Tensor reference = torch::where(weights == 0, log_probs.detach(), reference_log_probs);
  return kl_coef * weighted_sum(kl_estimate(KlEstimator::kK3, log_probs, reference), weights);
}

}  // namespace headroom
