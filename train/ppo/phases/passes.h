// Forward passes over sequences, and their outputs.
#pragma once

#include <memory>
#include <vector>

#include "model/batch_layout.h"
#include "model/torch.h"
#include "model/transformer.h"
#include "train/ppo/losses/token_log_probs.h"
#include "train/ppo/phases/experience.h"

namespace headroom {

// Some sequences, concatenated without padding, and the places of their response tokens.
struct PassRows {
  torch::Tensor tokens_1S;                  // int64: prompt and response of each
  std::shared_ptr<const BatchLayout> pass;  // the sequences; outputs: the T tokens' predecessors
  std::shared_ptr<const BatchLayout> ends;  // the same; outputs: the last token of each, (B)
  torch::Tensor cells_T;                    // place of each response token in (all sequences x R)
  torch::Tensor targets_T;                  // the response tokens themselves
  torch::Tensor owners_T;                   // for each token, its sequence among the B
  torch::Tensor sequences_B;                // indices of the sequences
};
PassRows rows_of(const Experience& experience, const Indices& sequences);

// Sums over each of the B responses.
torch::Tensor sums_of_sequences(const torch::Tensor& of_tokens_T, const PassRows& rows);

// of_rows() gathers a pass's T numbers from (B, R); into() writes them there.
torch::Tensor of_rows(const torch::Tensor& of_all_BR, const PassRows& rows);
void into(torch::Tensor& of_all_BR, const PassRows& rows, const torch::Tensor& of_tokens_T);

// These sequences in passes of at most max_tokens each (Note [Packing]); 0: in one.
std::vector<PassRows> passes_of(const Experience& experience, const Indices& sequences,
                                int64_t max_tokens);
Indices all_sequences(const Experience& experience);

// From the outputs of a pass, (1, N, D): the policy's log-probabilities of its response tokens,
// (T), and the outputs of a one-output head, (N) FP32.
TokenLogProbs log_probs_of(Transformer& model, const torch::Tensor& hidden_1ND,
                           const PassRows& rows, const LogProbOptions& options);
torch::Tensor values_of(Transformer& model, const torch::Tensor& hidden_1ND);

}  // namespace headroom
