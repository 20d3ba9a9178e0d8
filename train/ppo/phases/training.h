// Updates from an experience: epochs of shuffled minibatches.
#pragma once

#include "train/ppo/phases/experience.h"
#include "train/ppo/setup/spec.h"
#include "train/step.h"

namespace headroom {

// Means over all trained tokens of all updates.
struct TrainingReport {
  int64_t updates = 0;
  int64_t micro_batches = 0;  // in all updates
  int64_t tokens = 0;         // prompt and response tokens of their forwards and backwards
  int64_t most_tokens = 0;    // in a micro-batch
  double loss = 0;  // the policy's without KL and entropy; the critic's before its coefficient
  double clip_fraction = 0;  // share of tokens whose clipped term counts
  double approx_kl = 0;      // from the sampling policy to the current one
  double entropy = 0;        // of the policy, nats
};

// Frees the gradients before returning.
TrainingReport train_critic(const Experience& experience, Step& critic, const PpoSpec& spec,
                            uint64_t seed);
TrainingReport train_actor(const Experience& experience, Step& actor, const PpoSpec& spec,
                           uint64_t seed);

}  // namespace headroom
