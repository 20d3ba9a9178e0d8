#include "train/techniques/gradient_taker.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace headroom {

using torch::Tensor;

class GradientTaker::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientTaker& taker, size_t index) : taker_(taker), index_(index) {}

  void operator()(const Tensor&) override {
    taker_.take(index_);
    ++taker_.taken_;
  }

 private:
  GradientTaker& taker_;
  size_t index_;
};

GradientTaker::GradientTaker(const torch::OrderedDict<std::string, Tensor>& parameters)
    : names_(parameters.keys()), parameters_(parameters.values()) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i],
                                                   std::make_unique<Hook>(*this, i));
  }
}

GradientTaker::~GradientTaker() {
  for (const Tensor& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

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
