#include "train/ppo/phases/experience.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace headroom {

using torch::Tensor;

Indices Experience::lengths() const {
  Indices both(prompt_lengths.size());
  std::transform(prompt_lengths.begin(), prompt_lengths.end(), response_lengths.begin(),
                 both.begin(), std::plus<>());
  return both;
}

Tensor Experience::zeros_BR() const {
  return torch::zeros(mask_BR.sizes(), mask_BR.options().dtype(torch::kFloat32));
}

void Experience::tag_all(MemoryTags* tags) const {
  tag(tags, Category::kOther,
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

Tensor on_device(const Indices& numbers, const Tensor& like) {
  return torch::tensor(numbers, torch::kInt64).to(like.device());
}

}  // namespace headroom
