// One optimizer for all parameters, after the last backward: unscale, clip, update.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/optim/optimizer.h"
#include "train/parallel/ranks/world.h"
#include "train/update/update.h"

namespace headroom {

class OptimizerUpdate final : public Update {
 public:
  // names: of the optimizer's parameters.
  OptimizerUpdate(std::unique_ptr<Optimizer> optimizer, std::vector<std::string> names);

  // Clips gradients to this norm before each update; 0: no clipping.
  void clip_to(double max_norm) { max_grad_norm_ = max_norm; }
  // Sets the other ranks. counted: for each parameter, true if this rank counts it in sums over all
  // ranks; empty: all of them.
  void join(std::shared_ptr<const World> world, std::vector<bool> counted);

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void finish(size_t micro_batches, StepHook& hooks) override;
  std::vector<torch::Tensor> state() const override { return optimizer_->state(); }
  std::vector<torch::Tensor> master_weights() const override {
    return optimizer_->master_weights();
  }
  std::vector<Optimizer*> optimizers() const override { return {optimizer_.get()}; }

 private:
  bool unscale();
  void clip();

  std::unique_ptr<Optimizer> optimizer_;
  std::vector<std::string> names_;
  double max_grad_norm_ = 0;
  std::shared_ptr<const World> world_;  // null: a single rank
  std::vector<bool> counted_;
};

}  // namespace headroom
