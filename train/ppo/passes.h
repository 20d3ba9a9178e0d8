// Sequences as they go through a model together, and what is made of them there.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "model/transformer.h"
#include "train/ppo/experience.h"
#include "train/ppo/token_log_probs.h"

namespace headroom {

// Some of the sequences, as they go through a model together, and where their response tokens are.
struct PassRows {
  torch::Tensor tokens_BS;    // int64: as long as the longest of them
  torch::Tensor positions_T;  // of the hidden states that each token was chosen from, in (B S)
  torch::Tensor last_B;       // of the last token of each sequence, likewise
  torch::Tensor cells_T;      // of each token in (all sequences x R), row by row
  torch::Tensor targets_T;    // the tokens themselves
  torch::Tensor sequences_B;  // the numbers of the sequences
  torch::Tensor owners_T;     // of each token, which of the B it is of
};
PassRows rows_of(const Experience& experience, const Indices& sequences);

// Sums over the response of each of the B sequences.
torch::Tensor sums_of_sequences(const torch::Tensor& of_tokens_T, const PassRows& rows);

// The T numbers of (B, R) that a pass is about, and the other way: into(...) writes them there.
torch::Tensor of_rows(const torch::Tensor& of_all_BR, const PassRows& rows);
void into(torch::Tensor& of_all_BR, const PassRows& rows, const torch::Tensor& of_tokens_T);

// These sequences in passes of at most so many tokens each (Note [Packing]); 0: in one.
std::vector<PassRows> passes_of(const Experience& experience, const Indices& sequences,
                                int64_t max_tokens);
Indices all_sequences(const Experience& experience);

// From the final norm's output of a pass, (B, S, D): what a policy gives its response tokens, (T),
// and what a head of one output gives at positions of it, FP32.
TokenLogProbs log_probs_of(Transformer& model, const torch::Tensor& hidden_BSD,
                           const PassRows& rows, const LogProbOptions& options);
torch::Tensor values_at(Transformer& model, const torch::Tensor& hidden_BSD,
                        const torch::Tensor& positions);

}  // namespace headroom
