#include "train/ppo/losses/advantages.h"

namespace headroom {

using torch::Tensor;

namespace {

constexpr double kWhiteningEps = 1e-8;
constexpr double kGroupEps = 1e-4;

// Not by multiplication: values outside may be NaN or infinite.
Tensor inside(const Tensor& values, const Tensor& mask) { return values.masked_fill(~mask, 0); }

void check_shapes(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.sizes() == b.sizes(), "shapes ", a.sizes(), " and ", b.sizes(), " differ");
}

}  // namespace

Tensor kl_estimate(KlEstimator estimator, const Tensor& log_probs,
                   const Tensor& reference_log_probs) {
  check_shapes(log_probs, reference_log_probs);
  const Tensor log_ratio = reference_log_probs - log_probs;
  switch (estimator) {
    case KlEstimator::kK1:
      return -log_ratio;
    case KlEstimator::kK2:
      return log_ratio.square() / 2;
    case KlEstimator::kK3:
      return torch::exp(log_ratio) - 1 - log_ratio;
  }
  TORCH_INTERNAL_ASSERT(false, "no such estimator");
}

Tensor token_rewards(const Tensor& scores_B, const Tensor& kl_BR, double kl_coef,
                     const Tensor& mask_BR) {
  check_shapes(kl_BR, mask_BR);
  const Tensor rewards_BR = inside(kl_BR * -kl_coef, mask_BR);
  const Tensor lengths_B1 = mask_BR.sum(-1, /*keepdim=*/true);
  // An empty response gets no score.
  const Tensor scores_B1 = scores_B.unsqueeze(-1).masked_fill(lengths_B1 == 0, 0);
  return rewards_BR.scatter_add(-1, (lengths_B1 - 1).clamp_min(0),
                                scores_B1.to(rewards_BR.scalar_type()));
}

Advantages generalized_advantages(const Tensor& rewards_BR, const Tensor& values_BR,
                                  const Tensor& mask_BR, double gamma, double lambda) {
  check_shapes(rewards_BR, mask_BR);
  check_shapes(values_BR, mask_BR);
  const torch::NoGradGuard no_grad;
  const Tensor rewards = inside(rewards_BR, mask_BR);
  const Tensor values = inside(values_BR, mask_BR);
  Tensor advantages_BR = torch::zeros_like(values);
  Tensor next_value_B = torch::zeros_like(values.select(-1, 0));
  Tensor advantage_B = next_value_B;
  for (int64_t t = values.size(-1) - 1; t >= 0; --t) {
    const Tensor value_B = values.select(-1, t);
    const Tensor delta_B = rewards.select(-1, t) + gamma * next_value_B - value_B;
    advantage_B = delta_B + gamma * lambda * advantage_B;
    advantages_BR.select(-1, t).copy_(advantage_B);
    next_value_B = value_B;
  }
  return {advantages_BR, advantages_BR + values};
}

Tensor masked_mean(const Tensor& values, const Tensor& mask) {
  return inside(values, mask).sum() / mask.sum();
}

Tensor masked_whiten(const Tensor& values, const Tensor& mask, bool shift_mean) {
  check_shapes(values, mask);
  const Tensor count = mask.sum();
  // Not on a card: that would wait for it.
  TORCH_CHECK(mask.is_cuda() || count.item<int64_t>() > 1, "one valid position has no variance");
  const Tensor mean = masked_mean(values, mask);
  const Tensor variance = inside((values - mean).square(), mask).sum() / (count - 1);
  const Tensor whitened = (values - mean) * torch::rsqrt(variance + kWhiteningEps);
  return inside(shift_mean ? whitened : whitened + mean, mask);
}

Tensor group_advantages(const Tensor& scores_B, int64_t group_size, bool by_std) {
  TORCH_CHECK(group_size > 1 && scores_B.dim() == 1 && scores_B.size(0) % group_size == 0,
              scores_B.sizes(), " scores are no groups of ", group_size);
  const Tensor scores = scores_B.view({-1, group_size});
  const Tensor centred = scores - scores.mean(-1, /*keepdim=*/true);
  if (!by_std) return centred.flatten();
  return (centred / (scores.std(-1, /*unbiased=*/true, /*keepdim=*/true) + kGroupEps)).flatten();
}

}  // namespace headroom
