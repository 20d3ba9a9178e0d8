#include "train/update/gradient_hooks.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace headroom {

class GradientHooks::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(const GradientHooks& owner, size_t index) : owner_(owner), index_(index) {}

  void operator()(const torch::Tensor&) override { owner_.completed_(index_); }

 private:
  const GradientHooks& owner_;
  size_t index_;
};

GradientHooks::GradientHooks(std::vector<torch::Tensor> parameters,
                             std::function<void(size_t index)> completed)
    : parameters_(std::move(parameters)), completed_(std::move(completed)) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i],
                                                   std::make_unique<Hook>(*this, i));
  }
}

GradientHooks::~GradientHooks() {
  for (const torch::Tensor& parameter : parameters_) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
}

}  // namespace headroom
