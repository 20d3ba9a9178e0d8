// What updates the parameters: the interface, and the one function that makes each from its row of
// train/optim/table.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/spec.h"

namespace headroom {

class Optimizer {
 public:
  explicit Optimizer(std::vector<torch::Tensor> parameters);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update of every parameter by its gradient. State comes into being at the first one. Throws
  // c10::Error, before anything is changed, where a parameter has no gradient.
  void step();

  // Updates so far: t of the formulas.
  int64_t updates() const { return updates_; }
  // As after so many: state comes into being, zeros for who goes on to fill, in place.
  void resume(int64_t updates);

  // What it updates.
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

  // Every tensor of state there is now: for each row of the table one kind after the other, each in
  // the order of the parameters, without elements where one has none of it; last what all share.
  virtual std::vector<torch::Tensor> state() const = 0;

  // The FP32 copies of the parameters that it updates, in their order, where it has such: the
  // parameters are made of them anew at every step.
  virtual std::vector<torch::Tensor> master_weights() const { return {}; }

  // Of every parameter, in their order; undefined where there is none.
  std::vector<torch::Tensor> gradients() const;

 protected:
  virtual void update() = 0;  // under NoGradGuard; every parameter has a gradient
  // All that state() has, zeros; a number of updates that is a tensor is `updates`.
  virtual void make_state(int64_t updates) = 0;

  std::vector<torch::Tensor> parameters_;

 private:
  int64_t updates_ = 0;
};

// Makes an optimizer of a part of the parameters, numbered from `first` on: what a technique that
// stands between an optimizer and the model is given.
using MakeOptimizer =
    std::function<std::unique_ptr<Optimizer>(std::vector<torch::Tensor> parameters, size_t first)>;

// The state of several optimizers of a part of the parameters each, as that of one of all of them;
// a tensor that they share is in it once.
std::vector<torch::Tensor> state_of_all(const std::vector<const Optimizer*>& parts);

// What the parameters are, which an optimizer may decide by.
struct OfParameters {
  std::vector<std::string> names = {};  // as in a state_dict; Adam-mini and Muon go by them
  // Elements of the tensors that they are pieces of; none: they are whole.
  std::vector<int64_t> whole_numels = {};

  OfParameters part(size_t first, size_t count) const;
};

// The one that the spec asks for.
std::unique_ptr<Optimizer> make_optimizer(const RunSpec& spec,
                                          std::vector<torch::Tensor> parameters,
                                          const OfParameters& of = {});

}  // namespace headroom
