// Log-probability and entropy of each token of a policy, from the hidden states that its head
// reads.
//
// Shape suffixes: T tokens   D d_model   V vocabulary   C tokens of a chunk
//
// Note [Log-probabilities in chunks]
// Rationale: a token's log-probability needs the logits of the whole vocabulary, and these are the
//   largest tensors of a step: written out, logits, their log-softmax, the probabilities and the
//   gradients of two of them live at once (Note [The loss of a policy] in
//   plan/cost/model_cost.cpp).
// Approach: one node of autograd. Its forward makes the logits of C tokens, reduces them to a few
//   numbers a token and lets go of them before the next C; backward makes them again from the
//   saved hidden states, and the gradient of a chunk goes into those of hidden states and head
//   before the next one is made. With z the logits divided by the temperature, p = softmax(z), t
//   the token and H the entropy:
//     log p_t = z_t - logsumexp(z)            d log p_t / d z_j = [j = t] - p_j
//     H = -sum_j p_j log p_j                  d H / d z_j = -p_j (log p_j + H)
//   Both are made in FP32 whatever the products are in; under autocast those are in its type, and
//   the head is cast for the time of a forward or backward and kept by nobody.
// Limits: the head's product is computed once more in backward. With BF16 weights the head's
//   gradient is rounded once for every chunk. The head must be a matrix of its own, not FP8's.
#pragma once

#include "model/torch.h"

namespace headroom {

struct LogProbOptions {
  double temperature = 1;      // the logits are divided by it
  int64_t chunk_tokens = 512;  // whose logits are there at once: two FP32 numbers for each of V
  bool entropy = true;         // false: it is not computed, and undefined
};

struct TokenLogProbs {
  torch::Tensor log_probs_T;  // FP32 (FP64 of FP64 hidden states), likewise the entropy
  torch::Tensor entropy_T;    // in nats
};

// Of tokens_T (int64) under softmax(hidden_TD weight_VD^T / temperature). Gradients go to hidden
// states and weight. Throws c10::Error where the shapes do not fit, on a temperature or a chunk
// that is not positive.
TokenLogProbs token_log_probs(const torch::Tensor& hidden_TD, const torch::Tensor& weight_VD,
                              const torch::Tensor& tokens_T, const LogProbOptions& options = {});

// The same written out, as PyTorch's programs do: all logits at once. To compare with.
TokenLogProbs plain_token_log_probs(const torch::Tensor& hidden_TD, const torch::Tensor& weight_VD,
                                    const torch::Tensor& tokens_T,
                                    const LogProbOptions& options = {});

}  // namespace headroom
