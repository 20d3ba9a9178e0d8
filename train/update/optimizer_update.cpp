#include "train/update/optimizer_update.h"

#include <utility>

#include "train/hooks/memory_tags.h"
#include "train/hooks/scope.h"
#include "train/techniques/clipping.h"

namespace headroom {

using torch::Tensor;

OptimizerUpdate::OptimizerUpdate(std::unique_ptr<Optimizer> optimizer,
                                 std::vector<std::string> names)
    : optimizer_(std::move(optimizer)), names_(std::move(names)) {}

void OptimizerUpdate::join(std::shared_ptr<const World> world, std::vector<bool> counted) {
  world_ = std::move(world);
  counted_ = std::move(counted);
}

void OptimizerUpdate::listen(ScopeListener* scopes, MemoryTags* tags) {
  Update::listen(scopes, tags);
  if (tags_ == nullptr) return;
  tag(tags_, Category::kMasterWeights, optimizer_->master_weights(), names_);
  tag(tags_, Category::kOptimizerState, optimizer_->state(), names_);
}

void OptimizerUpdate::finish(size_t /*micro_batches*/, StepHook& hooks) {
  if (complete_) complete_(names_, optimizer_->gradients());
  const StepScope phase(scopes_, {ScopeKind::kPhase, "optimizer"});
  const bool finite = unscale();
  if (max_grad_norm_ > 0) clip();
  if (finite) {
    optimizer_->step();
    hooks.end_update();
  } else {
    ++skipped_steps_;
  }
  if (loss_scaler) loss_scaler->update();
  if (tags_ != nullptr) tag(tags_, Category::kOptimizerState, optimizer_->state(), names_);
}

// True if all ranks' gradients are finite: ranks skip a step together.
bool OptimizerUpdate::unscale() {
  if (!loss_scaler) return true;
  bool finite = loss_scaler->unscale(optimizer_->gradients());
  if (!world_) return finite;
  finite = world_->all(finite);
  loss_scaler->found(finite);
  return finite;
}

void OptimizerUpdate::clip() {
  const StepScope phase(scopes_, {ScopeKind::kPhase, "clipping"});
  const std::vector<Tensor> gradients = optimizer_->gradients();
  if (!world_) {
    clip_gradients(gradients, max_grad_norm_);
    return;
  }
  // Gradients that several ranks have are counted by one of them.
  std::vector<Tensor> counted;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (counted_.empty() || counted_[i]) counted.push_back(gradients[i]);
  }
  clip_gradients(gradients, max_grad_norm_,
                 {counted, [this](Tensor& number) { world_->add_up(number); }, world_->device()});
}

}  // namespace headroom
