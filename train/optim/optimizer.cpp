#include "train/optim/optimizer.h"

#include <algorithm>

namespace headroom {

Optimizer::Optimizer(std::vector<torch::Tensor> parameters) : parameters_(std::move(parameters)) {}

void Optimizer::step() {
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& parameter : parameters_) {
    TORCH_CHECK(parameter.grad().defined(), "optimizer: a parameter of shape ", parameter.sizes(),
                " has no gradient");
  }
  ++updates_;
  if (!parameters_.empty()) update();  // a rank may own no parameters
}

void Optimizer::resume(int64_t updates) {
  const torch::NoGradGuard no_grad;
  updates_ = updates;
  make_state(updates);
}

std::vector<torch::Tensor> state_of_all(const std::vector<const Optimizer*>& parts) {
  std::vector<std::vector<torch::Tensor>> states;
  size_t most = 0;
  for (const Optimizer* part : parts) {
    states.push_back(part->state());
    most = std::max(most, states.back().size());
  }
  if (states.size() == 1) return states.front();
  std::vector<torch::Tensor> all;
  for (size_t kind = 0; kind < most; ++kind) {
    for (const auto& state : states) {
      if (kind >= state.size()) continue;
      const bool is_shared = !all.empty() && all.back().is_same(state[kind]);
      if (!is_shared) all.push_back(state[kind]);
    }
  }
  return all;
}

OfParameters OfParameters::part(size_t first, size_t count) const {
  const auto cut = [&](const auto& all) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    return std::vector(begin, begin + static_cast<std::ptrdiff_t>(count));
  };
  OfParameters part;
  if (!names.empty()) part.names = cut(names);
  if (!whole_numels.empty()) part.whole_numels = cut(whole_numels);
  return part;
}

std::vector<torch::Tensor> Optimizer::gradients() const {
  std::vector<torch::Tensor> all;
  all.reserve(parameters_.size());
  for (const torch::Tensor& parameter : parameters_) all.push_back(parameter.grad());
  return all;
}

}  // namespace headroom
