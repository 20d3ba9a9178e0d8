#include "train/ppo/passes.h"

#include <algorithm>
#include <numeric>

namespace headroom {

using torch::Tensor;

namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

Tensor on_device(const Indices& numbers, const Tensor& like) {
  return torch::tensor(numbers, torch::kInt64).to(like.device());
}

Indices part_of(const Indices& all, const Indices& chosen) {
  Indices part;
  for (const int64_t index : chosen) part.push_back(all[static_cast<size_t>(index)]);
  return part;
}

Tensor chosen_rows(const Tensor& hidden_BSD, const Tensor& positions) {
  return hidden_BSD.flatten(0, 1).index_select(0, positions);
}

}  // namespace

PassRows rows_of(const Experience& experience, const Indices& sequences) {
  const Indices lengths = experience.lengths();
  const int64_t columns = experience.mask_BR.size(1);
  int64_t longest = 0;
  for (const int64_t sequence : sequences) longest = std::max(longest, lengths[at(sequence)]);
  Indices positions, last, cells, owners;
  for (size_t row = 0; row < sequences.size(); ++row) {
    const int64_t sequence = sequences[row];
    const int64_t begin = static_cast<int64_t>(row) * longest;
    const int64_t prompt = experience.prompt_lengths[at(sequence)];
    for (int64_t i = 0; i < experience.response_lengths[at(sequence)]; ++i) {
      positions.push_back(begin + prompt + i - 1);
      cells.push_back(sequence * columns + i);
      owners.push_back(static_cast<int64_t>(row));
    }
    last.push_back(begin + lengths[at(sequence)] - 1);
  }
  const Tensor& tokens = experience.tokens_BS;
  PassRows rows;
  rows.sequences_B = on_device(sequences, tokens);
  rows.positions_T = on_device(positions, tokens);
  rows.last_B = on_device(last, tokens);
  rows.cells_T = on_device(cells, tokens);
  rows.owners_T = on_device(owners, tokens);
  rows.tokens_BS = tokens.index_select(0, rows.sequences_B).narrow(1, 0, longest).contiguous();
  rows.targets_T = rows.tokens_BS.flatten().index_select(0, rows.positions_T + 1);
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

TokenLogProbs log_probs_of(Transformer& model, const Tensor& hidden_BSD, const PassRows& rows,
                           const LogProbOptions& options) {
  return token_log_probs(chosen_rows(hidden_BSD, rows.positions_T), model->head_weight(),
                         rows.targets_T, options);
}

Tensor values_at(Transformer& model, const Tensor& hidden_BSD, const Tensor& positions) {
  return model->head(chosen_rows(hidden_BSD, positions)).squeeze(-1).to(torch::kFloat32);
}

}  // namespace headroom
