// How a step uses its gradients. The base class does nothing: for steps that do not train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/hooks/memory_tags.h"
#include "train/hooks/step_hook.h"
#include "train/update/loss_scaler.h"

namespace headroom {

class HostStates;
class Optimizer;

class Update : public StepHook {
 public:
  // Adds the other ranks' parts to gradients, in place.
  using Complete = std::function<void(const std::vector<std::string>& names,
                                      const std::vector<torch::Tensor>& gradients)>;

  // Called for every gradient before it is used.
  void complete_by(Complete complete) { complete_ = std::move(complete); }

  void listen(ScopeListener* scopes, MemoryTags* tags) override {
    scopes_ = scopes;
    tags_ = tags;
    if (loss_scaler) tag(tags_, Category::kOther, loss_scaler->state(), {"loss scaler"});
  }
  // The loss times the scale that keeps FP16 gradients from vanishing; itself without a scaler.
  torch::Tensor scale(const torch::Tensor& loss) const {
    return loss_scaler ? loss_scaler->scale(loss) : loss;
  }
  // Called after the last of `micro_batches` backwards and StepHook::gradients_ready(). Calls
  // hooks.end_update() after the update; skips a step whose gradients are not finite.
  virtual void finish(size_t /*micro_batches*/, StepHook& /*hooks*/) {}

  // True if the gradients of several backwards of one step add up before their use.
  virtual bool adds_up() const { return true; }

  // See Optimizer.
  virtual std::vector<torch::Tensor> state() const { return {}; }
  virtual std::vector<torch::Tensor> master_weights() const { return {}; }
  // The optimizers on the device, in parameter order: each continues after the previous one.
  virtual std::vector<Optimizer*> optimizers() const { return {}; }
  // The state if it is on the host; null: on the device.
  virtual const HostStates* host_states() const { return nullptr; }

  int64_t skipped_steps() const { return skipped_steps_; }

  std::unique_ptr<LossScaler> loss_scaler;  // FP16 with a backward only

 protected:
  Complete complete_;  // null: this rank has every whole gradient
  int64_t skipped_steps_ = 0;
  ScopeListener* scopes_ = nullptr;
  MemoryTags* tags_ = nullptr;
};

}  // namespace headroom
