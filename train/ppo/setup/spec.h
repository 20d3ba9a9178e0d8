// PpoSpec: everything that decides what one iteration of PPO or GRPO computes. No torch here.
//
// What a role is (its size, its techniques, its optimizer) is a RunSpec of its own.
#pragma once

#include <cstdint>

#include "text/enum_words.h"

namespace headroom {

enum class PpoAlgorithm {
  kPpo,   // a critic, GAE, the KL penalty in the rewards
  kGrpo,  // no critic: the baseline is the mean of a group; the KL penalty in the loss
};
const EnumWords<PpoAlgorithm>& words_of(PpoAlgorithm);

// How the KL divergence to the reference is estimated from one token's log-probabilities, after J.
// Schulman, "Approximating KL Divergence" (2020). With r = p_reference / p_policy:
enum class KlEstimator {
  kK1,  // -log r: unbiased, may be negative
  kK2,  // (log r)^2 / 2: biased, of less variance
  kK3,  // r - 1 - log r: unbiased, never negative
};
const EnumWords<KlEstimator>& words_of(KlEstimator);

// What a loss is of its tokens' losses. The words are verl's `loss_agg_mode`.
enum class LossAggregation {
  kTokenMean,          // the mean over all tokens; TRL's loss_type bnpo
  kSequenceMean,       // the mean over sequences of each one's mean; TRL's grpo
  kSequenceSumNormed,  // the sum over sequences x the longest response allowed; TRL's dr_grpo
};
const EnumWords<LossAggregation>& words_of(LossAggregation);

struct PpoSpec {
  PpoAlgorithm algorithm = PpoAlgorithm::kPpo;

  // Generation.
  int64_t prompts = 8;          // prompts of an iteration
  int64_t group_size = 1;       // responses to each prompt; GRPO: at least 2
  int64_t response_length = 8;  // tokens of a response at most
  double temperature = 1;       // of sampling, and of every log-probability
  int64_t end_token = -1;       // ends a response, and belongs to it; -1 = none does

  // Rewards and advantages.
  double kl_coef = 0.05;                        // of the penalty (PPO) or in the loss (GRPO)
  KlEstimator kl_estimator = KlEstimator::kK1;  // of the penalty; in GRPO's loss it is k3
  double gamma = 1;                             // discount of a token
  double lambda = 0.95;                         // of GAE
  bool whiten_advantages = true;                // to mean 0 and variance 1 (PPO)
  bool scale_by_group_std = true;               // GRPO; false: by nothing (Dr. GRPO)

  // Losses.
  double clip = 0.2;        // of the ratio of probabilities, around 1
  double value_clip = 0.2;  // of a value, around what it was; 0 = not clipped
  double value_coef = 0.1;  // of the critic's loss
  double entropy_coef = 0;  // of the entropy bonus
  LossAggregation loss_agg_mode = LossAggregation::kTokenMean;

  // Training.
  int64_t epochs = 4;                      // times that every sequence is trained on
  int64_t minibatches = 1;                 // updates in an epoch
  int64_t max_tokens_per_micro_batch = 0;  // prompt and response of all its sequences; 0 = no limit
  int64_t chunk_tokens = 512;              // tokens whose logits are there at once
  int64_t seed = 0;                        // of sampling and shuffling

  int64_t sequences() const { return prompts * group_size; }
};

// Throws UsageError naming the setting, the value, what is allowed and an example.
void validate(const PpoSpec& spec);

}  // namespace headroom
