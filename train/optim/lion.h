// Lion (Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, arXiv 2302.06675,
// algorithm 2) in two implementations of the same update:
//   p -= lr * decay * p
//   p -= lr * sign(b1 m + (1 - b1) g)
//   m  = b2 m + (1 - b2) g
// Four bytes of state per FP32 parameter (m has its type). Every element moves by lr: the paper's
// rates are a third to a tenth of AdamW's, its weight decay as many times larger.
#pragma once

#include "train/kernels/operations/compiled_operation.h"
#include "train/optim/optimizer.h"

namespace headroom {

struct LionOptions {
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0.01;
  OperationPtr compiled = nullptr;  // the update tensor by tensor
};

class Lion : public Optimizer {
 public:
  Lion(std::vector<torch::Tensor> parameters, OptimizerImpl impl, const LionOptions& options);

  // m of every parameter.
  std::vector<torch::Tensor> state() const override { return m_; }

 private:
  void update() override;
  void make_state(int64_t updates) override;
  void update_one(size_t i);
  void update_foreach();
  double keep() const { return 1 - options_.learning_rate * options_.weight_decay; }

  OptimizerImpl impl_;
  LionOptions options_;
  std::vector<torch::Tensor> m_;
};

}  // namespace headroom
