// PpoSpec: all settings of one iteration of PPO or GRPO that affect its result. No torch here.
//
// A role (its size, techniques and optimizer) has its own RunSpec.
#pragma once

#include <cstdint>

#include "text/enum_words.h"

namespace headroom {

enum class PpoAlgorithm {
  kPpo,   // a critic, GAE, the KL penalty in the rewards
  kGrpo,  // no critic: the baseline is a group's mean; the KL penalty is in the loss
};
const EnumWords<PpoAlgorithm>& words_of(PpoAlgorithm);

// Estimators of the KL divergence to the reference from one token's log-probabilities, after J.
// Schulman, "Approximating KL Divergence" (2020). With r = p_reference / p_policy:
enum class KlEstimator {
  kK1,  // -log r: unbiased, may be negative
  kK2,  // (log r)^2 / 2: biased, with less variance
  kK3,  // r - 1 - log r: unbiased, never negative
};
const EnumWords<KlEstimator>& words_of(KlEstimator);

// Aggregation of tokens' losses to one loss. The words are verl's `loss_agg_mode`.
enum class LossAggregation {
  kTokenMean,          // mean over all tokens; TRL's loss_type bnpo
  kSequenceMean,       // mean over sequences of each one's mean; TRL's grpo
  kSequenceSumNormed,  // sum over (sequences x the longest response allowed); TRL's dr_grpo
};
const EnumWords<LossAggregation>& words_of(LossAggregation);

struct PpoSpec {
  PpoAlgorithm algorithm = PpoAlgorithm::kPpo;

  // Generation.
  int64_t prompts = 8;          // per iteration
  int64_t group_size = 1;       // responses per prompt; GRPO: at least 2
  int64_t response_length = 8;  // most tokens of a response
  double temperature = 1;       // for sampling and every log-probability
  int64_t end_token = -1;       // last token of a response, part of it; -1 = none

  // Rewards and advantages.
  double kl_coef = 0.05;                        // for the penalty (PPO) or in the loss (GRPO)
  KlEstimator kl_estimator = KlEstimator::kK1;  // for the penalty; GRPO's loss uses k3
  double gamma = 1;                             // discount per token
  double lambda = 0.95;                         // for GAE
  bool whiten_advantages = true;                // to mean 0 and variance 1 (PPO)
  bool scale_by_group_std = true;               // GRPO; false: no scaling (Dr. GRPO)

  // Losses.
  double clip = 0.2;        // range of the probability ratio, around 1
  double value_clip = 0.2;  // range of a value, around the old one; 0 = no clipping
  double value_coef = 0.1;  // of the critic's loss
  double entropy_coef = 0;  // of the entropy bonus
  LossAggregation loss_agg_mode = LossAggregation::kTokenMean;

  // Training.
  int64_t epochs = 4;                      // passes over every sequence
  int64_t minibatches = 1;                 // updates per epoch
  int64_t max_tokens_per_micro_batch = 0;  // prompt and response, all sequences; 0 = no limit
  int64_t chunk_tokens = 512;              // tokens whose logits are live at once
  int64_t seed = 0;                        // for sampling and shuffling

  int64_t sequences() const { return prompts * group_size; }
};

// Throws UsageError with the setting, the value, the allowed values and an example.
void validate(const PpoSpec& spec);

}  // namespace headroom
