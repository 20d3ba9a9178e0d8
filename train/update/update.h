// What becomes of the gradients. This one does nothing: for steps that do not train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/loss_scaler.h"
#include "train/memory_tags.h"
#include "train/step_hook.h"

namespace headroom {

class HostStates;
class Optimizer;

class Update : public StepHook {
 public:
  // Adds to gradients, in place, the parts that other ranks have of them.
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
  // After the last of `micro_batches` backwards, and after StepHook::gradients_ready(). Tells
  // `hooks` when the parameters are updated; a step whose gradients are not finite is skipped.
  virtual void finish(size_t /*micro_batches*/, StepHook& /*hooks*/) {}

  // Whether the gradients of several backwards of one step add up before they are used.
  virtual bool adds_up() const { return true; }

  // As an Optimizer's.
  virtual std::vector<torch::Tensor> state() const { return {}; }
  virtual std::vector<torch::Tensor> master_weights() const { return {}; }
  // Those on the device, each with the parameters behind those of the one before.
  virtual std::vector<Optimizer*> optimizers() const { return {}; }
  // Where the state is on the host; null: on the device.
  virtual const HostStates* host_states() const { return nullptr; }

  int64_t skipped_steps() const { return skipped_steps_; }

  std::unique_ptr<LossScaler> loss_scaler;  // FP16 with a backward only

 protected:
  Complete complete_;  // null: this rank has all of every gradient
  int64_t skipped_steps_ = 0;
  ScopeListener* scopes_ = nullptr;
  MemoryTags* tags_ = nullptr;
};

}  // namespace headroom
