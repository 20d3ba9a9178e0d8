// Gradient release: a parameter is updated inside backward, as soon as its gradient is complete,
// and the gradient goes.
//
// Note [Gradient release]
// Rationale: an ordinary step holds every gradient until the last is there, and its update looks
//   at one after the other.
// Approach: the hook of a parameter (gradient_sink.h) updates it with an optimizer of that
//   parameter alone, so that no optimizer knows of it and each counts one update a step; foreach
//   and fused get lists of one tensor. What is computed is the ordinary update, bit for bit.
//   The update is a phase, "optimizer", inside that of the backward, on autograd's thread, which
//   the step waits for. The gradient is tagged before the update and the state after it.
// Limits: nothing that must see all gradients before the first update: clipping, loss scaling, a
//   second backward, replicas (train/gradient_rules.cpp, train/parallel/rules.cpp). A step that
//   fails in the middle has updated some of the parameters. An optimizer that draws random numbers
//   draws them in the order of backward.
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
  // One optimizer for a parameter at a time.
  GradientRelease(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                  const MakeOptimizer& make);

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  bool adds_up() const override { return false; }

  // Of every parameter in turn.
  std::vector<torch::Tensor> state() const override;
  std::vector<torch::Tensor> master_weights() const override;

  std::vector<Optimizer*> optimizers() const override;

 private:
  void take(size_t index) override;

  std::vector<std::unique_ptr<Optimizer>> optimizers_;  // of each parameter
};

}  // namespace headroom
