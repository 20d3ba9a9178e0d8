// The next token of each sequence, from what the head gives for its last one.
#pragma once

#include <cstdint>

#include "model/torch.h"

namespace headroom {

// How a token is chosen. The cuts are made in this order; then one draw among what is left.
struct Sampling {
  double temperature = 0;  // logits are divided by it; 0 = greedy: the highest, no draw
  int64_t top_k = 0;       // only so many of the highest; 0 = all
  double top_p = 1;        // only the highest that together have this probability (Holtzman et al.
                           // 2020, section 3.1); the first always
};

// Note [A draw without a look]
// Rationale: at::multinomial asks the device whether the probabilities are valid and waits for the
//   answer, once a token.
// Approach: the largest of p / e, where each e is drawn from the exponential distribution of mean
//   1, is token i with probability p_i (the first of independent arrivals with rates p_i). One
//   operation each, nothing to wait for, and a CUDA graph may hold it.
// Limits: a seed's tokens are those of one device type and one batch.
class Sampler {
 public:
  Sampler(const Sampling& sampling, uint64_t seed, torch::Device device);

  // (B, V) logits, any type -> (B) int64.
  torch::Tensor next(const torch::Tensor& logits_BV);

 private:
  Sampling sampling_;
  at::Generator generator_;
};

}  // namespace headroom
