#include "train/ppo/phases/passes.h"

#include <numeric>
#include <utility>

namespace headroom {

using torch::Tensor;

namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

Indices part_of(const Indices& all, const Indices& chosen) {
  Indices part;
  for (const int64_t index : chosen) part.push_back(all[static_cast<size_t>(index)]);
  return part;
}

// The pass with these outputs.
std::shared_ptr<const BatchLayout> asking(const BatchLayout& pass, const Tensor& outputs_N) {
  BatchLayout asks = pass;
  asks.outputs_N = outputs_N;
  return std::make_shared<const BatchLayout>(std::move(asks));
}

}  // namespace

PassRows rows_of(const Experience& experience, const Indices& sequences) {
  const Indices lengths = part_of(experience.lengths(), sequences);
  const int64_t columns = experience.mask_BR.size(1);
  Indices chosen_from, targets, last, cells, owners;
  std::vector<Tensor> tokens;
  int64_t begin = 0;
  for (size_t row = 0; row < sequences.size(); ++row) {
    const int64_t sequence = sequences[row];
    const int64_t prompt = experience.prompt_lengths[at(sequence)];
    for (int64_t i = 0; i < experience.response_lengths[at(sequence)]; ++i) {
      targets.push_back(begin + prompt + i);
      chosen_from.push_back(targets.back() - 1);
      cells.push_back(sequence * columns + i);
      owners.push_back(static_cast<int64_t>(row));
    }
    tokens.push_back(experience.tokens_BS[sequence].narrow(0, 0, lengths[row]));
    begin += lengths[row];
    last.push_back(begin - 1);
  }
  const Tensor tokens_S = torch::cat(tokens);
  const BatchLayout pass = packed_pass(lengths, tokens_S.device());
  PassRows rows;
  rows.pass = asking(pass, on_device(chosen_from, tokens_S));
  rows.ends = asking(pass, on_device(last, tokens_S));
  rows.cells_T = on_device(cells, tokens_S);
  rows.targets_T = tokens_S.index_select(0, on_device(targets, tokens_S));
  rows.owners_T = on_device(owners, tokens_S);
  rows.sequences_B = on_device(sequences, tokens_S);
  rows.tokens_1S = tokens_S.unsqueeze(0);
  return rows;
}

Tensor sums_of_sequences(const Tensor& of_tokens_T, const PassRows& rows) {
  return torch::zeros({rows.sequences_B.size(0)}, of_tokens_T.options().requires_grad(false))
      .index_add(0, rows.owners_T, of_tokens_T);
}

Tensor of_rows(const Tensor& of_all_BR, const PassRows& rows) {
  return of_all_BR.flatten().index_select(0, rows.cells_T);
}

void into(Tensor& of_all_BR, const PassRows& rows, const Tensor& of_tokens_T) {
  of_all_BR.view(-1).index_copy_(0, rows.cells_T, of_tokens_T.to(of_all_BR.scalar_type()));
}

std::vector<PassRows> passes_of(const Experience& experience, const Indices& sequences,
                                int64_t max_tokens) {
  std::vector<PassRows> passes;
  const Indices lengths = part_of(experience.lengths(), sequences);
  for (const Indices& pack : pack_sequences(lengths, max_tokens)) {
    passes.push_back(rows_of(experience, part_of(sequences, pack)));
  }
  return passes;
}

Indices all_sequences(const Experience& experience) {
  Indices all(at(experience.sequences()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TokenLogProbs log_probs_of(Transformer& model, const Tensor& hidden_1ND, const PassRows& rows,
                           const LogProbOptions& options) {
  return token_log_probs(hidden_1ND.squeeze(0), model->head_weight(), rows.targets_T, options);
}

Tensor values_of(Transformer& model, const Tensor& hidden_1ND) {
  return model->head(hidden_1ND).flatten().to(torch::kFloat32);
}

}  // namespace headroom
