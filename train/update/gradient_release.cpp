#include "train/update/gradient_release.h"

namespace headroom {

using torch::Tensor;

GradientRelease::GradientRelease(const torch::OrderedDict<std::string, Tensor>& parameters,
                                 const MakeOptimizer& make)
    : GradientSink(parameters) {
  for (const Tensor& parameter : parameters_) {
    optimizers_.push_back(make({parameter}, optimizers_.size()));
  }
}

// One parameter's optimizer has several state tensors, all with that parameter's name.
void GradientRelease::listen(ScopeListener* scopes, MemoryTags* tags) {
  Update::listen(scopes, tags);
  for (size_t i = 0; i < optimizers_.size(); ++i) {
    tag(tags_, Category::kMasterWeights, optimizers_[i]->master_weights(), {names_[i]});
    tag(tags_, Category::kOptimizerState, optimizers_[i]->state(), {names_[i]});
  }
}

std::vector<Optimizer*> GradientRelease::optimizers() const {
  std::vector<Optimizer*> all;
  for (const auto& optimizer : optimizers_) all.push_back(optimizer.get());
  return all;
}

std::vector<Tensor> GradientRelease::state() const {
  std::vector<Tensor> all;
  for (const auto& optimizer : optimizers_) {
    for (Tensor& tensor : optimizer->state()) all.push_back(std::move(tensor));
  }
  return all;
}

std::vector<Tensor> GradientRelease::master_weights() const {
  std::vector<Tensor> all;
  for (const auto& optimizer : optimizers_) {
    for (Tensor& tensor : optimizer->master_weights()) all.push_back(std::move(tensor));
  }
  return all;
}

void GradientRelease::take(size_t index) {
  const StepScope phase(scopes_, {ScopeKind::kPhase, "optimizer"});
  Tensor& parameter = parameters_[index];
  tag(tags_, Category::kGradients, parameter.grad(), names_[index]);
  optimizers_[index]->step();
  parameter.mutable_grad() = Tensor();
  tag(tags_, Category::kOptimizerState, optimizers_[index]->state(), {names_[index]});
}

}  // namespace headroom
