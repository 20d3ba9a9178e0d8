// What a rollout leaves: finished sequences, and what is known of each of their response tokens.
//
// Shape suffixes in train/ppo: B sequences   S positions of the longest sequence   R positions of
// the longest response   T response tokens of some sequences, one behind the other   D d_model
// V vocabulary
#pragma once

#include "model/torch.h"
#include "train/memory_tags.h"
#include "train/ppo/phases/packing.h"

namespace headroom {

struct Experience {
  // On the host, B numbers each: tokens of each prompt and of its response, at least 1 and 0.
  Indices prompt_lengths, response_lengths;
  torch::Tensor tokens_BS;  // int64: a prompt, its response, then 0
  torch::Tensor mask_BR;    // bool: there is a response token

  // FP32, of the response tokens, 0 elsewhere. A value is of the state in which the token was
  // chosen: before it. Undefined until they are computed, and where the algorithm has none.
  torch::Tensor log_probs_BR;            // under the actor that sampled them
  torch::Tensor reference_log_probs_BR;  // under the reference
  torch::Tensor values_BR;               // of the critic
  torch::Tensor scores_B;                // of the sequence: the reward model's, or a rule's
  torch::Tensor rewards_BR;              // scores, less the KL penalty
  torch::Tensor advantages_BR;
  torch::Tensor returns_BR;

  int64_t sequences() const { return tokens_BS.size(0); }
  // Prompt and response of each, as packing counts them.
  Indices lengths() const;
  // A (B, R) of zeros beside the mask.
  torch::Tensor zeros_BR() const;
  // All that is there, as of the category experience.
  void tag_all(MemoryTags* tags) const;
};

// Mask and nothing else of finished sequences. prompt_lengths, response_lengths: as above.
Experience make_experience(torch::Tensor tokens_BS, Indices prompt_lengths,
                           Indices response_lengths);

// (count) int64, on the device that `like` is on.
torch::Tensor on_device(const Indices& numbers, const torch::Tensor& like);

}  // namespace headroom
