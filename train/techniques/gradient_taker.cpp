#include "train/techniques/gradient_taker.h"

namespace headroom {

using torch::Tensor;

GradientTaker::GradientTaker(const torch::OrderedDict<std::string, Tensor>& parameters)
    : names_(parameters.keys()),
      parameters_(parameters.values()),
      hooks_(parameters_, [this](size_t index) {
        take(index);
        ++taken_;
      }) {}

void GradientTaker::listen(ScopeListener* scopes, MemoryClaims* claims) {
  scopes_ = scopes;
  claims_ = claims;
  claim(claims_, Category::kMasterWeights, master_weights(), names_);
  claim(claims_, Category::kOptimizerState, state(), names_);
}

void GradientTaker::check_complete() const {
  TORCH_CHECK(taken_ == parameters_.size(), "backward completed the gradients of ", taken_, " of ",
              parameters_.size(), " parameters");
}

}  // namespace headroom
