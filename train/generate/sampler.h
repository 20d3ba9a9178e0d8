// Chooses the next token of each sequence from the logits of its last one.
#pragma once

#include <cstdint>

#include "model/torch.h"

namespace headroom {

// Sampling rules: the cuts are made in this order, then one draw from the rest.
struct Sampling {
  double temperature = 0;  // divides the logits; 0 = greedy: the highest, no draw
  int64_t top_k = 0;       // only this many highest; 0 = all
  double top_p = 1;        // only the highest with this total probability (Holtzman et al. 2020,
                           // section 3.1); always the first
};

// Note [A draw without a look]
// Rationale: at::multinomial checks on the device whether the probabilities are valid and waits for
//   the answer, once a token.
// Approach: the largest of p / e, where each e is drawn from the exponential distribution of mean
//   1, is token i with probability p_i (the first of independent arrivals with rates p_i). One
//   operation each, no waits, and a CUDA graph can hold it.
// Limits: a seed's tokens depend on device type and batch.
class Sampler {
 public:
  Sampler(const Sampling& sampling, uint64_t seed, torch::Device device);

  // (B, V) logits of any type -> (B) int64.
  torch::Tensor next(const torch::Tensor& logits_BV);

 private:
  Sampling sampling_;
  at::Generator generator_;
};

}  // namespace headroom
