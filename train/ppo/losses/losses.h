// The losses of PPO and GRPO, of tensors of any one shape.
//
// A loss is sum(weights * loss of a token): how tokens make a loss is in the weights alone
// (token_weights), made once for a minibatch. So the losses of its micro-batches add up to its own,
// whatever tokens each has.
#pragma once

#include "model/torch.h"
#include "train/ppo/setup/spec.h"

namespace headroom {

// Of each token of a minibatch, (B, R) FP32; 0 outside of the mask (bool). response_length: the
// longest response allowed, of kSequenceSumNormed.
torch::Tensor token_weights(LossAggregation mode, const torch::Tensor& mask_BR,
                            int64_t response_length);

// A loss, a scalar in a graph; the others are detached, of the same weights.
struct PolicyLoss {
  torch::Tensor loss;
  torch::Tensor clip_fraction;  // tokens whose clipped term is the one that counts
  torch::Tensor approx_kl;      // (log ratio)^2 / 2: Schulman's k2 of the step from old to new
};

// Schulman et al. 2017, eq. 7, negated: of each token max(-A r, -A clip(r, 1 - clip, 1 + clip)), r
// the ratio of its probability now to that when it was sampled.
PolicyLoss clipped_policy_loss(const torch::Tensor& log_probs, const torch::Tensor& old_log_probs,
                               const torch::Tensor& advantages, const torch::Tensor& weights,
                               double clip);

struct ValueLoss {
  torch::Tensor loss;
  torch::Tensor clip_fraction;
};

// Half the larger of (V - return)^2 and the same of V clipped to old value +- clip, as in the code
// of Schulman et al. 2017; clip 0: of the first alone.
ValueLoss clipped_value_loss(const torch::Tensor& values, const torch::Tensor& old_values,
                             const torch::Tensor& returns, const torch::Tensor& weights,
                             double clip);

// -sum(weights * entropy): what a bonus adds to a loss, before its coefficient.
torch::Tensor entropy_loss(const torch::Tensor& entropy, const torch::Tensor& weights);

// What GRPO adds for the KL divergence to the reference (Shao et al. 2024, eq. 3 and 4): kl_coef
// times k3, with its gradient.
torch::Tensor kl_loss(const torch::Tensor& log_probs, const torch::Tensor& reference_log_probs,
                      const torch::Tensor& weights, double kl_coef);

}  // namespace headroom
