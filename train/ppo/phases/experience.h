// The result of a rollout: finished sequences, and data for each of their response tokens.
//
// Shape suffixes in train/ppo: B sequences   S positions of the longest sequence   R positions of
// the longest response   T response tokens of some sequences, concatenated   D d_model   V
// vocabulary
#pragma once

#include "model/torch.h"
#include "train/hooks/memory_tags.h"
#include "train/ppo/phases/packing.h"

namespace headroom {

struct Experience {
  // On the host, B numbers each: tokens of each prompt (at least 1) and response (at least 0).
  Indices prompt_lengths, response_lengths;
  torch::Tensor tokens_BS;  // int64: a prompt, its response, then zeros
  torch::Tensor mask_BR;    // bool: true at response tokens

  // FP32 for the response tokens, 0 elsewhere. A value is that of the state before its token.
  // Undefined until computed, and if the algorithm does not use it.
  torch::Tensor log_probs_BR;            // under the actor that sampled them
  torch::Tensor reference_log_probs_BR;  // under the reference
  torch::Tensor values_BR;               // by the critic
  torch::Tensor scores_B;                // by sequence: the reward model's, or a rule's
  torch::Tensor rewards_BR;              // scores minus the KL penalty
  torch::Tensor advantages_BR;
  torch::Tensor returns_BR;

  int64_t sequences() const { return tokens_BS.size(0); }
  // Tokens of each prompt with its response, for packing.
  Indices lengths() const;
  // Zeros, (B, R), on the mask's device.
  torch::Tensor zeros_BR() const;
  // Tags all defined tensors.
  void tag_all(MemoryTags* tags) const;
};

// Finished sequences with only their mask. prompt_lengths, response_lengths: as above.
Experience make_experience(torch::Tensor tokens_BS, Indices prompt_lengths,
                           Indices response_lengths);

// (count) int64, on the device of `like`.
torch::Tensor on_device(const Indices& numbers, const torch::Tensor& like);

}  // namespace headroom
