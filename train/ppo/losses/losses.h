// The losses of PPO and GRPO, on tensors of any one shape.
//
// A loss is sum(weights * token loss): only the weights (token_weights), made once per minibatch,
// decide how tokens are aggregated. So the losses of micro-batches add up to the minibatch's,
// however its tokens are split.
#pragma once

#include "model/torch.h"
#include "train/ppo/setup/spec.h"

namespace headroom {

// A weight per token of a minibatch, (B, R) FP32; 0 outside the mask (bool). response_length: the
// longest response allowed, for kSequenceSumNormed.
torch::Tensor token_weights(LossAggregation mode, const torch::Tensor& mask_BR,
                            int64_t response_length);

// The loss is a scalar in a graph; the others are detached, with the same weights.
struct PolicyLoss {
  torch::Tensor loss;
  torch::Tensor clip_fraction;  // share of tokens whose clipped term counts
  torch::Tensor approx_kl;      // (log ratio)^2 / 2: Schulman's k2, from old to new
};

// Schulman et al. 2017, eq. 7, negated: per token max(-A r, -A clip(r, 1 - clip, 1 + clip)), with r
// its probability now over that at sampling.
PolicyLoss clipped_policy_loss(const torch::Tensor& log_probs, const torch::Tensor& old_log_probs,
                               const torch::Tensor& advantages, const torch::Tensor& weights,
                               double clip);

struct ValueLoss {
  torch::Tensor loss;
  torch::Tensor clip_fraction;
};

// Half the larger of (V - return)^2 and the same with V clipped to old value +- clip, as in the
// code of Schulman et al. 2017; clip 0: only the first.
ValueLoss clipped_value_loss(const torch::Tensor& values, const torch::Tensor& old_values,
                             const torch::Tensor& returns, const torch::Tensor& weights,
                             double clip);

// -sum(weights * entropy): an entropy bonus's loss, before its coefficient.
torch::Tensor entropy_loss(const torch::Tensor& entropy, const torch::Tensor& weights);

// GRPO's loss for the KL divergence to the reference (Shao et al. 2024, eq. 3 and 4): kl_coef times
// k3, with its gradient.
torch::Tensor kl_loss(const torch::Tensor& log_probs, const torch::Tensor& reference_log_probs,
                      const torch::Tensor& weights, double kl_coef);

}  // namespace headroom
