// Updates by an experience: epochs of shuffled minibatches.
#pragma once

#include "train/ppo/phases/experience.h"
#include "train/ppo/setup/spec.h"
#include "train/step.h"

namespace headroom {

// Means over all tokens that were trained on, of all updates.
struct TrainingReport {
  int64_t updates = 0;
  int64_t micro_batches = 0;  // of all updates together
  int64_t tokens = 0;         // prompt and response, that went forward and backward in them
  int64_t most_tokens = 0;    // of a micro-batch
  double loss = 0;  // the policy's without KL and entropy; the critic's before its coefficient
  double clip_fraction = 0;  // tokens whose clipped term counts
  double approx_kl = 0;      // of the policy to what it was when it sampled
  double entropy = 0;        // of the policy, nats
};

// Gradients are gone when it returns.
TrainingReport train_critic(const Experience& experience, Step& critic, const PpoSpec& spec,
                            uint64_t seed);
TrainingReport train_actor(const Experience& experience, Step& actor, const PpoSpec& spec,
                           uint64_t seed);

}  // namespace headroom
