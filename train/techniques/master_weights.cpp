#include "train/techniques/master_weights.h"

namespace headroom {

using torch::Tensor;

MasterWeights::MasterWeights(std::vector<Tensor> parameters, Updates updates,
                             const MakeOptimizer& make)
    : Optimizer(std::move(parameters)) {
  for (const Tensor& parameter : parameters_) {
    masters_.push_back(parameter.detach().to(torch::kFloat32, /*non_blocking=*/false,
                                             /*copy=*/true));
  }
  if (updates == Updates::kAllAtOnce) {
    parts_.push_back({0, masters_.size(), make(masters_, 0)});
    return;
  }
  for (size_t i = 0; i < masters_.size(); ++i) parts_.push_back({i, i + 1, make({masters_[i]}, i)});
}

std::vector<Tensor> MasterWeights::state() const {
  std::vector<const Optimizer*> optimizers;
  optimizers.reserve(parts_.size());
  for (const Part& part : parts_) optimizers.push_back(part.optimizer.get());
  return state_of_all(optimizers);
}

void MasterWeights::make_state(int64_t updates) {
  for (const Part& part : parts_) part.optimizer->resume(updates);
}

void MasterWeights::update() {
  for (const Part& part : parts_) {
    for (size_t i = part.begin; i < part.end; ++i) {
      masters_[i].mutable_grad() = parameters_[i].grad().to(torch::kFloat32);
    }
    part.optimizer->step();
    for (size_t i = part.begin; i < part.end; ++i) {
      masters_[i].mutable_grad() = Tensor();
      parameters_[i].copy_(masters_[i]);
    }
  }
}

}  // namespace headroom
