#include "train/optim/lion.h"

namespace headroom {

using torch::Tensor;

Lion::Lion(std::vector<Tensor> parameters, OptimizerImpl impl, const LionOptions& options)
    : Optimizer(std::move(parameters)), impl_(impl), options_(options) {}

void Lion::make_state(int64_t /*updates*/) {
  for (const Tensor& parameter : parameters_) m_.push_back(torch::zeros_like(parameter));
}

void Lion::update() {
  if (m_.empty()) make_state(0);
  if (impl_ == OptimizerImpl::kForeach) return update_foreach();
  for (size_t i = 0; i < parameters_.size(); ++i) update_one(i);
}

// One temporary of the parameter's size: the direction. None if the update is compiled.
void Lion::update_one(size_t i) {
  Tensor& p = parameters_[i];
  const Tensor& g = p.grad();
  if (options_.compiled &&
      options_.compiled->run_flat({p, g, m_[i]}, {keep(), options_.learning_rate,
                                                  1 - options_.beta1, 1 - options_.beta2})) {
    return;
  }
  p.mul_(keep());
  p.add_(torch::lerp(m_[i], g, 1 - options_.beta1).sign_(), -options_.learning_rate);
  m_[i].lerp_(g, 1 - options_.beta2);
}

// The same over all tensors at once: the directions need as much memory as the parameters.
void Lion::update_foreach() {
  const std::vector<Tensor> gradients = this->gradients();
  at::_foreach_mul_(parameters_, keep());
  std::vector<Tensor> directions = at::_foreach_lerp(m_, gradients, 1 - options_.beta1);
  at::_foreach_sign_(directions);
  at::_foreach_add_(parameters_, directions, -options_.learning_rate);
  at::_foreach_lerp_(m_, gradients, 1 - options_.beta2);
}

}  // namespace headroom
