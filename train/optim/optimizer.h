// What updates the parameters: the interface, and the one function that makes each from its row of
// train/optim/table.h.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

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

  // Every tensor of state there is now: one kind after the other, each in the order of the
  // parameters.
  virtual std::vector<torch::Tensor> state() const = 0;

  // Of every parameter, in their order; undefined where there is none.
  std::vector<torch::Tensor> gradients() const;

 protected:
  virtual void update() = 0;  // under NoGradGuard; every parameter has a gradient

  std::vector<torch::Tensor> parameters_;
};

// The one that the spec asks for.
std::unique_ptr<Optimizer> make_optimizer(const RunSpec& spec,
                                          std::vector<torch::Tensor> parameters);

}  // namespace headroom
