// Direct preference optimization (Rafailov et al. 2023) of a role, from the same parts as PPO.
#pragma once

#include <cstdint>

#include "train/ppo/experience.h"
#include "train/step.h"

namespace headroom {

struct DpoSpec {
  double beta = 0.1;        // how far the policy may go from the reference for a preference
  int64_t epochs = 1;       // times that every pair is trained on
  int64_t minibatches = 1;  // updates in an epoch
  int64_t max_tokens_per_micro_batch = 0;  // of all its pairs, prompts and responses; 0 = no limit
  int64_t chunk_tokens = 512;              // tokens whose logits are there at once
};

// Means over pairs, of all updates.
struct DpoReport {
  int64_t updates = 0;
  int64_t micro_batches = 0;
  double loss = 0;      // log 2 where policy and reference are one
  double accuracy = 0;  // pairs whose chosen response has the higher reward, beta log(p / p_ref)
  double margin = 0;    // by how much
};

// pairs: sequences 2 i and 2 i + 1 are the chosen and the rejected response to one prompt. A
// minibatch of pairs is one update, a pair is in one micro-batch. Throws UsageError where a pair is
// longer than the budget. Gradients are gone when it returns.
DpoReport train_dpo(const Experience& pairs, Step& actor, Step& reference, const DpoSpec& spec,
                    uint64_t seed);

}  // namespace headroom
