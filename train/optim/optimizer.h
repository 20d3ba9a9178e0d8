// The optimizers' interface, and the one function that makes those of train/optim/table.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/settings/spec.h"

namespace headroom {

class Optimizer {
 public:
  explicit Optimizer(std::vector<torch::Tensor> parameters);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // Updates every parameter by its gradient. The first update creates the state. Throws c10::Error,
  // before any change, if a parameter has no gradient.
  void step();

  // Updates so far: t of the formulas.
  int64_t updates() const { return updates_; }
  // Restores the count of updates and creates zero state, for the caller to fill in place.
  void resume(int64_t updates);

  // The parameters that it updates.
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

  // All current state tensors: row by row of the table, each row in the order of the parameters
  // (empty for a parameter without it); shared tensors last.
  virtual std::vector<torch::Tensor> state() const = 0;

  // The FP32 copies that it updates, in the parameters' order, if it has them: every step sets the
  // parameters from them.
  virtual std::vector<torch::Tensor> master_weights() const { return {}; }

  // Every parameter's gradient, in their order; undefined if there is none.
  std::vector<torch::Tensor> gradients() const;

 protected:
  virtual void update() = 0;  // under NoGradGuard; every parameter has a gradient
  // Creates all of state(), zeros; a tensor that counts updates is set to `updates`.
  virtual void make_state(int64_t updates) = 0;

  std::vector<torch::Tensor> parameters_;

 private:
  int64_t updates_ = 0;
};

// Makes an optimizer for a part of the parameters, numbered from `first` on, for a technique that
// wraps optimizers.
using MakeOptimizer =
    std::function<std::unique_ptr<Optimizer>(std::vector<torch::Tensor> parameters, size_t first)>;

// The state of several optimizers, each with a part of the parameters, as if one had all; a shared
// tensor appears once.
std::vector<torch::Tensor> state_of_all(const std::vector<const Optimizer*>& parts);

// Facts about the parameters that an optimizer may use.
struct OfParameters {
  std::vector<std::string> names = {};  // as in a state_dict; Adam-mini and Muon use them
  // Elements of the tensors that they are pieces of; empty: they are whole.
  std::vector<int64_t> whole_numels = {};

  OfParameters part(size_t first, size_t count) const;
};

// Makes the spec's optimizer.
std::unique_ptr<Optimizer> make_optimizer(const RunSpec& spec,
                                          std::vector<torch::Tensor> parameters,
                                          const OfParameters& of = {});

}  // namespace headroom
