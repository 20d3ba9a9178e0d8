#include "train/techniques/gradient_taker.h"

namespace headroom {

using torch::Tensor;

GradientTaker::GradientTaker(const torch::OrderedDict<std::string, Tensor>& parameters, Giver giver)
    : names_(parameters.keys()), parameters_(parameters.values()) {
  if (giver == Giver::kReplicas) return;
  hooks_.emplace(parameters_, [this](size_t index) { give(index); });
}

void GradientTaker::give(size_t index) {
  if (complete_) complete_(names_[index], parameters_[index].grad());
  take(index);
  ++taken_;
}

void GradientTaker::listen(ScopeListener* scopes, MemoryClaims* claims) {
  scopes_ = scopes;
  claims_ = claims;
  claim(claims_, Category::kMasterWeights, master_weights(), names_);
  claim(claims_, Category::kOptimizerState, state(), names_);
}

void GradientTaker::check_complete(size_t backwards) const {
  const size_t all = parameters_.size() * backwards;
  TORCH_CHECK(taken_ == all, "backward completed the gradients of ", taken_, " of ", all,
              " parameters");
}

}  // namespace headroom
