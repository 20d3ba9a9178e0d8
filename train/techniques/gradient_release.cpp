#include "train/techniques/gradient_release.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace headroom {

using torch::Tensor;

class GradientRelease::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientRelease& release, Updated& updated) : release_(release), updated_(updated) {}

  void operator()(const Tensor&) override { release_.update(updated_); }

 private:
  GradientRelease& release_;
  Updated& updated_;
};

GradientRelease::GradientRelease(const torch::OrderedDict<std::string, Tensor>& parameters,
                                 const MakeOptimizer& make) {
  for (const auto& item : parameters) {
    all_.push_back({item.key(), item.value(), make({item.value()}, all_.size())});
  }
  for (Updated& updated : all_) {
    torch::autograd::impl::set_post_acc_grad_hooks(updated.parameter,
                                                   std::make_unique<Hook>(*this, updated));
  }
}

GradientRelease::~GradientRelease() {
  for (const Updated& updated : all_) {
    torch::autograd::impl::set_post_acc_grad_hooks(updated.parameter, nullptr);
  }
}

void GradientRelease::listen(ScopeListener* scopes, MemoryClaims* claims) {
  scopes_ = scopes;
  claims_ = claims;
  for (const Updated& updated : all_) {
    claim(claims_, Category::kMasterWeights, updated.optimizer->master_weights(), {updated.name});
    claim(claims_, Category::kOptimizerState, updated.optimizer->state(), {updated.name});
  }
}

void GradientRelease::check_complete() const {
  TORCH_CHECK(updates_ == all_.size(), "gradient release: backward completed the gradients of ",
              updates_, " of ", all_.size(), " parameters");
}

std::vector<Tensor> GradientRelease::state() const {
  std::vector<Tensor> all;
  for (const Updated& updated : all_) {
    for (Tensor& tensor : updated.optimizer->state()) all.push_back(std::move(tensor));
  }
  return all;
}

std::vector<Tensor> GradientRelease::master_weights() const {
  std::vector<Tensor> all;
  for (const Updated& updated : all_) {
    for (Tensor& tensor : updated.optimizer->master_weights()) all.push_back(std::move(tensor));
  }
  return all;
}

void GradientRelease::update(Updated& updated) {
  const StepScope phase(scopes_, {ScopeKind::kPhase, "optimizer"});
  claim(claims_, Category::kGradients, updated.parameter.grad(), updated.name);
  updated.optimizer->step();
  updated.parameter.mutable_grad() = Tensor();
  claim(claims_, Category::kOptimizerState, updated.optimizer->state(), {updated.name});
  ++updates_;
}

}  // namespace headroom
