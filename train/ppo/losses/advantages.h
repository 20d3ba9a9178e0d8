// Advantages from scores: the KL penalty, GAE, the group baseline.
//
// Shape suffixes: B sequences   R positions of the longest response. A mask (B, R), bool, marks the
// response tokens: the first positions of each sequence. Values outside it are ignored, and results
// there are 0.
#pragma once

#include "model/torch.h"
#include "train/ppo/setup/spec.h"

namespace headroom {

// An estimate of KL(policy || reference) for each token, sampled from the policy, any shape:
// Schulman's k1, k2 or k3 (see KlEstimator). Gradients flow to both.
torch::Tensor kl_estimate(KlEstimator estimator, const torch::Tensor& log_probs,
                          const torch::Tensor& reference_log_probs);

// Rewards (B, R): -kl_coef KL at every token, and the sequence's score, (B), at its last one
// (Ouyang et al. 2022, eq. 2, token by token as in Stiennon et al. 2020, section 3.4).
torch::Tensor token_rewards(const torch::Tensor& scores_B, const torch::Tensor& kl_BR,
                            double kl_coef, const torch::Tensor& mask_BR);

struct Advantages {
  torch::Tensor advantages_BR;
  torch::Tensor returns_BR;  // targets of the values: advantages + values
};

// Generalized advantage estimation (Schulman et al. 2015, "High-Dimensional Continuous Control",
// eq. 11 and 12; 16 as a recursion):
//   delta_t = r_t + gamma V_{t+1} - V_t        A_t = delta_t + gamma lambda A_{t+1}
// with V = A = 0 after the last token: a response that was cut off counts as ended.
Advantages generalized_advantages(const torch::Tensor& rewards_BR, const torch::Tensor& values_BR,
                                  const torch::Tensor& mask_BR, double gamma, double lambda);

// Mean over the valid positions.
torch::Tensor masked_mean(const torch::Tensor& values, const torch::Tensor& mask);

// (x - mean) / sqrt(variance + 1e-8) over the valid positions, with variance over n - 1, as TRL's
// masked_whiten; without `shift_mean` the mean is added back. Throws c10::Error on a mask with
// fewer than two valid positions (on a card the result is not finite).
torch::Tensor masked_whiten(const torch::Tensor& values, const torch::Tensor& mask,
                            bool shift_mean = true);

// GRPO's advantage of each sequence (Shao et al. 2024, section 4.1.2): its score minus its group's
// mean, divided by the group's deviation (n - 1) + 1e-4, as TRL; without `by_std` not divided (Liu
// et al. 2025, "Understanding R1-Zero-Like Training"). Groups are consecutive in B.
torch::Tensor group_advantages(const torch::Tensor& scores_B, int64_t group_size, bool by_std);

}  // namespace headroom
