// Log-probability and entropy of each token of a policy, from the head's hidden states.
//
// Shape suffixes: T tokens   D d_model   V vocabulary   C tokens of a chunk
//
// Note [Log-probabilities in chunks]
// Rationale: a token's log-probability needs the logits of the whole vocabulary, the largest
//   tensors of a step: written out, logits, their log-softmax, the probabilities and the gradients
//   of two of them live at once (Note [The loss of a policy] in plan/cost/model_cost.cpp).
// Approach: one autograd node. Its forward computes the logits of C tokens, reduces them to a few
//   numbers per token and frees them before the next C. Backward recomputes them from the saved
//   hidden states, and adds a chunk's gradient to those of hidden states and head before the next
//   chunk. With z the logits divided by the temperature, p = softmax(z), t the token and H the
//   entropy:
//     log p_t = z_t - logsumexp(z)            d log p_t / d z_j = [j = t] - p_j
//     H = -sum_j p_j log p_j                  d H / d z_j = -p_j (log p_j + H)
//   Both are FP32, whatever the products' type; under autocast products use its type, and the head
//   is cast anew for each forward or backward.
// Limits: the head's product is computed once more in backward. With BF16 weights the head's
//   gradient is rounded once per chunk. The head must be a separate matrix, not FP8's.
#pragma once

#include "model/torch.h"

namespace headroom {

struct LogProbOptions {
  double temperature = 1;      // divides the logits
  int64_t chunk_tokens = 512;  // logits live at once: two FP32 numbers for each of V
  bool entropy = true;         // false: not computed, undefined
};

struct TokenLogProbs {
  torch::Tensor log_probs_T;  // FP32 (FP64 for FP64 hidden states); also the entropy
  torch::Tensor entropy_T;    // in nats
};

// For tokens_T (int64) under softmax(hidden_TD weight_VD^T / temperature). Gradients flow to hidden
// states and weight. Throws c10::Error if the shapes do not match, or if temperature or chunk is
// not positive.
TokenLogProbs token_log_probs(const torch::Tensor& hidden_TD, const torch::Tensor& weight_VD,
                              const torch::Tensor& tokens_T, const LogProbOptions& options = {});

// The same written out, with all logits at once, as PyTorch programs do. For comparison.
TokenLogProbs plain_token_log_probs(const torch::Tensor& hidden_TD, const torch::Tensor& weight_VD,
                                    const torch::Tensor& tokens_T,
                                    const LogProbOptions& options = {});

}  // namespace headroom
