#include "train/ppo/experience.h"

#include <algorithm>
#include <utility>

namespace headroom {

using torch::Tensor;

namespace {

size_t at(int64_t index) { return static_cast<size_t>(index); }

Tensor on_device(const Indices& numbers, const Tensor& like) {
  return torch::tensor(numbers, torch::kInt64).to(like.device());
}

}  // namespace

Indices Experience::lengths() const {
  Indices both(prompt_lengths.size());
  std::transform(prompt_lengths.begin(), prompt_lengths.end(), response_lengths.begin(),
                 both.begin(), std::plus<>());
  return both;
}

Tensor Experience::zeros_BR() const {
  return torch::zeros(mask_BR.sizes(), mask_BR.options().dtype(torch::kFloat32));
}

void Experience::claim_all(MemoryClaims* claims) const {
  claim(claims, Category::kOther,
        {tokens_BS, mask_BR, log_probs_BR, reference_log_probs_BR, values_BR, scores_B, rewards_BR,
         advantages_BR, returns_BR},
        {"tokens", "mask", "log-probabilities", "reference log-probabilities", "values", "scores",
         "rewards", "advantages", "returns"});
}

Experience make_experience(Tensor tokens_BS, Indices prompt_lengths, Indices response_lengths) {
  const auto sequences = static_cast<size_t>(tokens_BS.size(0));
  TORCH_CHECK(prompt_lengths.size() == sequences && response_lengths.size() == sequences,
              "lengths of ", prompt_lengths.size(), " prompts and ", response_lengths.size(),
              " responses do not fit ", sequences, " sequences");
  const int64_t longest = *std::max_element(response_lengths.begin(), response_lengths.end());
  const Tensor positions_R = torch::arange(longest, tokens_BS.options());
  const Tensor lengths_B1 = on_device(response_lengths, tokens_BS).unsqueeze(-1);
  Experience made;
  made.mask_BR = positions_R < lengths_B1;
  made.tokens_BS = std::move(tokens_BS);
  made.prompt_lengths = std::move(prompt_lengths);
  made.response_lengths = std::move(response_lengths);
  return made;
}

PassRows rows_of(const Experience& experience, const Indices& sequences) {
  const Indices lengths = experience.lengths();
  const int64_t columns = experience.mask_BR.size(1);
  int64_t longest = 0;
  for (const int64_t sequence : sequences) longest = std::max(longest, lengths[at(sequence)]);
  Indices positions, last, cells;
  for (size_t row = 0; row < sequences.size(); ++row) {
    const int64_t sequence = sequences[row];
    const int64_t begin = static_cast<int64_t>(row) * longest;
    const int64_t prompt = experience.prompt_lengths[at(sequence)];
    for (int64_t i = 0; i < experience.response_lengths[at(sequence)]; ++i) {
      positions.push_back(begin + prompt + i - 1);
      cells.push_back(sequence * columns + i);
    }
    last.push_back(begin + lengths[at(sequence)] - 1);
  }
  const Tensor& tokens = experience.tokens_BS;
  PassRows rows;
  rows.sequences_B = on_device(sequences, tokens);
  rows.positions_T = on_device(positions, tokens);
  rows.last_B = on_device(last, tokens);
  rows.cells_T = on_device(cells, tokens);
  rows.tokens_BS = tokens.index_select(0, rows.sequences_B).narrow(1, 0, longest).contiguous();
  rows.targets_T = rows.tokens_BS.flatten().index_select(0, rows.positions_T + 1);
  return rows;
}

Tensor of_rows(const Tensor& of_all_BR, const PassRows& rows) {
  return of_all_BR.flatten().index_select(0, rows.cells_T);
}

void into(Tensor& of_all_BR, const PassRows& rows, const Tensor& of_tokens_T) {
  of_all_BR.view(-1).index_copy_(0, rows.cells_T, of_tokens_T.to(of_all_BR.scalar_type()));
}

}  // namespace headroom
