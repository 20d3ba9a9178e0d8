// SGD with momentum (Polyak 1964; Sutskever et al. 2013) in three implementations of the same
// update, weight decay decoupled as everywhere in headroom:
//   p -= lr * decay * p
//   b  = mu b + g
//   p -= lr * b
// Four bytes of state per FP32 parameter: b has the parameter's type.
#pragma once

#include "train/optim/optimizer.h"

namespace headroom {

struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0.9;
  double weight_decay = 0.01;
};

class Sgd : public Optimizer {
 public:
  Sgd(std::vector<torch::Tensor> parameters, OptimizerImpl impl, const SgdOptions& options);

  // b of every parameter.
  std::vector<torch::Tensor> state() const override { return b_; }

 private:
  void update() override;
  void make_state(int64_t updates) override;

  OptimizerImpl impl_;
  SgdOptions options_;
  std::vector<torch::Tensor> b_;
};

}  // namespace headroom
