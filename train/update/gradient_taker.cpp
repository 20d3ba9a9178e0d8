#include "train/update/gradient_taker.h"

namespace headroom {

using torch::Tensor;

GradientTaker::GradientTaker(const torch::OrderedDict<std::string, Tensor>& parameters, Giver giver)
    : names_(parameters.keys()), parameters_(parameters.values()), giver_(giver) {
  if (giver == Giver::kReplicas) return;
  hooks_.emplace(parameters_, [this](size_t index) { give(index); });
}

void GradientTaker::give(size_t index) {
  if (complete_) complete_(names_[index], parameters_[index].grad());
  take(index);
  ++taken_;
}

// Replicas have looked for themselves whether gradients are missing.
void GradientTaker::finish(size_t micro_batches, StepHook& hooks) {
  if (giver_ == Giver::kBackward) check_complete(micro_batches);
  finish_step(hooks);
}

void GradientTaker::listen(ScopeListener* scopes, MemoryClaims* claims) {
  Update::listen(scopes, claims);
  if (claims_ == nullptr) return;
  claim(claims_, Category::kMasterWeights, master_weights(), names_);
  claim(claims_, Category::kOptimizerState, state(), names_);
}

void GradientTaker::check_complete(size_t micro_batches) const {
  const size_t all = parameters_.size() * micro_batches;
  TORCH_CHECK(taken_ == all, "backward completed the gradients of ", taken_, " of ", all,
              " parameters");
}

}  // namespace headroom
