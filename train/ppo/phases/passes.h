// Sequences as they go through a model together, and what is made of them there.
#pragma once

#include <memory>
#include <vector>

#include "model/pass.h"
#include "model/torch.h"
#include "model/transformer.h"
#include "train/ppo/losses/token_log_probs.h"
#include "train/ppo/phases/experience.h"

namespace headroom {

// Some of the sequences one behind the other, without padding, and where their response tokens are.
struct PassRows {
  torch::Tensor tokens_1S;           // int64: prompt and response of each
  std::shared_ptr<const Pass> pass;  // them; its outputs are what the T tokens were chosen from
  std::shared_ptr<const Pass> ends;  // the same with the last token of each as its outputs, (B)
  torch::Tensor cells_T;             // of each response token in (all sequences x R), row by row
  torch::Tensor targets_T;           // the response tokens themselves
  torch::Tensor owners_T;            // of each, which of the B it is of
  torch::Tensor sequences_B;         // the numbers of the sequences
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

// Of the outputs of a pass, (1, N, D): what a policy gives its response tokens, (T), and what a
// head of one output gives, (N) FP32.
TokenLogProbs log_probs_of(Transformer& model, const torch::Tensor& hidden_1ND,
                           const PassRows& rows, const LogProbOptions& options);
torch::Tensor values_of(Transformer& model, const torch::Tensor& hidden_1ND);

}  // namespace headroom
