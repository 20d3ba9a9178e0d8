// An iteration's computations on the tokens of its responses, with shapes for tensors. Read beside
// train/ppo/losses/token_log_probs.h, losses.h and advantages.h. No torch here.
#pragma once

#include "profiling/theory/rehearsal/model.h"
#include "profiling/theory/rehearsal/ppo/experience.h"
#include "train/ppo/setup/spec.h"

namespace headroom {

// token_log_probs.cpp
struct ShapeLogProbs {
  ShapeTensor log_probs_T;
  ShapeTensor entropy_T;  // undefined where it is not asked for
};
ShapeLogProbs token_log_probs(const ShapeTensor& hidden_TD, const ShapeTensor& weight_VD,
                              const ShapeTensor& tokens_T, const PpoSpec& spec, bool entropy);

// losses.cpp. Scalars; what is reported of a loss is among them.
struct ShapeLoss {
  ShapeTensor loss, clip_fraction, approx_kl;
};
ShapeTensor token_weights(LossAggregation mode, const ShapeTensor& mask_BR);
ShapeLoss clipped_policy_loss(const ShapeTensor& log_probs, const ShapeTensor& old_log_probs,
                              const ShapeTensor& advantages, const ShapeTensor& weights);
ShapeLoss clipped_value_loss(const ShapeTensor& values, const ShapeTensor& old_values,
                             const ShapeTensor& returns, const ShapeTensor& weights, bool clips);
ShapeTensor entropy_loss(const ShapeTensor& entropy, const ShapeTensor& weights);
ShapeTensor kl_loss(const ShapeTensor& log_probs, const ShapeTensor& reference_log_probs,
                    const ShapeTensor& weights);

// advantages.cpp: what follows from scores, log-probabilities and values.
void add_group_advantages(ShapeExperience& experience, const PpoSpec& spec);
void add_generalized_advantages(ShapeExperience& experience, const PpoSpec& spec);
ShapeTensor kl_estimate(KlEstimator estimator, const ShapeTensor& log_probs,
                        const ShapeTensor& reference_log_probs);

}  // namespace headroom
