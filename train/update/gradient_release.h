// Gradient release: backward updates a parameter as soon as its gradient is complete, and frees the
// gradient.
//
// Note [Gradient release]
// Rationale: an ordinary step holds every gradient until the last is complete, though its update
//   uses them one after another.
// Approach: the hook of a parameter (gradient_sink.h) updates it with an optimizer for that
//   parameter only, so each optimizer counts one update a step; foreach and fused get lists of one
//   tensor. The result is the ordinary update, bit for bit.
//   The update is a phase, "optimizer", inside backward's phase, on autograd's thread; the step
//   waits for it. The gradient is tagged before the update and the state after it.
// Limits: excludes everything that needs all gradients before the first update: clipping, loss
//   scaling, a second backward, replicas (train/settings/gradient_rules.cpp,
//   train/parallel/rules.cpp). A step that fails midway has updated some of the parameters. An
//   optimizer that draws random numbers draws them in the order of backward.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/optim/optimizer.h"
#include "train/update/gradient_sink.h"

namespace headroom {

class GradientRelease final : public GradientSink {
 public:
  // Makes one optimizer per parameter.
  GradientRelease(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                  const MakeOptimizer& make);

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  bool adds_up() const override { return false; }

  // All parameters' state, in their order.
  std::vector<torch::Tensor> state() const override;
  std::vector<torch::Tensor> master_weights() const override;

  std::vector<Optimizer*> optimizers() const override;

 private:
  void take(size_t index) override;

  std::vector<std::unique_ptr<Optimizer>> optimizers_;  // by parameter
};

}  // namespace headroom
