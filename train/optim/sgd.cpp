#include "train/optim/sgd.h"

namespace headroom {

using torch::Tensor;

Sgd::Sgd(std::vector<Tensor> parameters, OptimizerImpl impl, const SgdOptions& options)
    : Optimizer(std::move(parameters)), impl_(impl), options_(options) {}

void Sgd::make_state(int64_t /*updates*/) {
  for (const Tensor& parameter : parameters_) b_.push_back(torch::zeros_like(parameter));
}

// In place in every implementation: no temporaries.
void Sgd::update() {
  if (b_.empty()) make_state(0);
  const double keep = 1 - options_.learning_rate * options_.weight_decay;
  if (impl_ == OptimizerImpl::kReference) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      parameters_[i].mul_(keep);
      b_[i].mul_(options_.momentum).add_(parameters_[i].grad());
      parameters_[i].add_(b_[i], -options_.learning_rate);
    }
    return;
  }
  const std::vector<Tensor> gradients = this->gradients();
  at::_foreach_mul_(parameters_, keep);
  if (impl_ == OptimizerImpl::kForeach) {
    at::_foreach_mul_(b_, options_.momentum);
    at::_foreach_add_(b_, gradients);
    at::_foreach_add_(parameters_, b_, -options_.learning_rate);
    return;
  }
  // The kernel's own weight decay adds to the gradient; ours is already applied.
  at::_fused_sgd_(parameters_, gradients, b_, /*weight_decay=*/0, options_.momentum,
                  options_.learning_rate, /*dampening=*/0, /*nesterov=*/false, /*maximize=*/false,
                  /*is_first_step=*/false);
}

}  // namespace headroom
