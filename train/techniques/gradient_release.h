// Gradient release: a parameter is updated inside backward, as soon as its gradient is complete,
// and the gradient goes.
//
// Note [Gradient release]
// Rationale: an ordinary step holds every gradient until the last is there, and its update looks
//   at one after the other.
// Approach: autograd calls a hook on a parameter whose gradient it has completed. The hook updates
//   the parameter with an optimizer of that parameter alone, so that no optimizer knows of it and
//   each counts one update a step; foreach and fused get lists of one tensor. What is computed is
//   the ordinary update, bit for bit.
//   The update is a phase, "optimizer", inside that of the backward, on autograd's thread, which
//   the step waits for. The gradient is claimed before the update and the state after it.
// Limits: nothing that must see all gradients before the first update: clipping, loss scaling, a
//   second backward (train/gradient_rules.cpp). A step that fails in the middle has updated some of
//   the parameters. An optimizer that draws random numbers draws them in the order of backward.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/memory_claims.h"
#include "train/optim/optimizer.h"
#include "train/scope.h"

namespace headroom {

class GradientRelease {
 public:
  // While it lives, every backward updates what it reaches of the parameters. One for a parameter
  // at a time.
  GradientRelease(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                  const MakeOptimizer& make);
  ~GradientRelease();
  GradientRelease(const GradientRelease&) = delete;
  GradientRelease& operator=(const GradientRelease&) = delete;

  // Claims the state that is there.
  void listen(ScopeListener* scopes, MemoryClaims* claims);

  void begin_step() { updates_ = 0; }
  // Throws c10::Error where a parameter had no gradient since begin_step().
  void check_complete() const;

  // Of every parameter in turn.
  std::vector<torch::Tensor> state() const;
  std::vector<torch::Tensor> master_weights() const;

 private:
  struct Updated {
    std::string name;
    torch::Tensor parameter;
    std::unique_ptr<Optimizer> optimizer;
  };
  class Hook;

  void update(Updated& updated);

  std::vector<Updated> all_;
  size_t updates_ = 0;
  ScopeListener* scopes_ = nullptr;
  MemoryClaims* claims_ = nullptr;
};

}  // namespace headroom
