// What takes the gradients of a step one by one, as backward completes them, in the place of an
// optimizer that takes all of them at its end.
//
// Autograd calls a hook on a parameter whose gradient it has completed, on its own thread, which
// the step waits for. What stands behind the hook is a GradientTaker: it updates the parameter
// there and then (gradient_release.h), or sends the gradient away and updates when backward has
// ended (train/offload/offloaded_optimizer.h). Where replicas add gradients up first, they give it
// the sums of what its parameters are (train/parallel/replicas.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/gradient_hooks.h"
#include "train/memory_claims.h"
#include "train/scope.h"

namespace headroom {

class LossScaler;

class GradientTaker {
 public:
  // Who gives it gradients: while it lives every backward, of what that reaches of the parameters;
  // or replicas, of what is complete over all of them.
  enum class Giver { kBackward, kReplicas };
  // What is done to a gradient before it is taken: several ranks have parts of it.
  using Complete = std::function<void(const std::string& parameter, const torch::Tensor& gradient)>;

  explicit GradientTaker(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                         Giver giver = Giver::kBackward);
  virtual ~GradientTaker() = default;
  GradientTaker(const GradientTaker&) = delete;
  GradientTaker& operator=(const GradientTaker&) = delete;

  // Claims the state that is there.
  virtual void listen(ScopeListener* scopes, MemoryClaims* claims);

  // Before the gradients of the step before are let go: that one may have failed in the middle.
  virtual void begin_step() { taken_ = 0; }
  // The gradient that the parameter has is complete, and its to take.
  void give(size_t index);
  void complete_by(Complete complete) { complete_ = std::move(complete); }
  // When each backward has ended.
  virtual void end_backward() {}
  // After the last of `backwards`. Throws c10::Error where a parameter had no gradient in one of
  // them.
  void check_complete(size_t backwards = 1) const;
  // What is left to do after the last. scaler: of the loss that the gradients are of; null: none.
  // False where they are not finite and nothing was updated.
  virtual bool finish_step(LossScaler* /*scaler*/) { return true; }

  // Whether the gradients of several backwards of one step add up before they are used.
  virtual bool adds_up() const { return true; }

  // As an Optimizer's.
  virtual std::vector<torch::Tensor> state() const = 0;
  virtual std::vector<torch::Tensor> master_weights() const = 0;

 protected:
  virtual void take(size_t index) = 0;  // the gradient of parameters_[index]

  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  ScopeListener* scopes_ = nullptr;
  MemoryClaims* claims_ = nullptr;

 private:
  size_t taken_ = 0;
  Complete complete_;
  std::optional<GradientHooks> hooks_;
};

}  // namespace headroom
