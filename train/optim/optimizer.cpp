#include "train/optim/optimizer.h"

namespace headroom {

Optimizer::Optimizer(std::vector<torch::Tensor> parameters) : parameters_(std::move(parameters)) {}

void Optimizer::step() {
  const torch::NoGradGuard no_grad;
  for (const torch::Tensor& parameter : parameters_) {
    TORCH_CHECK(parameter.grad().defined(), "optimizer: a parameter of shape ", parameter.sizes(),
                " has no gradient");
  }
  update();
}

std::vector<torch::Tensor> Optimizer::gradients() const {
  std::vector<torch::Tensor> all;
  all.reserve(parameters_.size());
  for (const torch::Tensor& parameter : parameters_) all.push_back(parameter.grad());
  return all;
}

}  // namespace headroom
