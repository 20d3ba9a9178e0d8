// AdamW (Loshchilov and Hutter 2019) in three implementations of the same update:
//   p -= lr * decay * p
//   m  = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2
//   p -= lr * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + eps)
// Eight bytes of state per FP32 parameter: m and v have the parameter's type.
#pragma once

#include <vector>

#include "model/torch.h"
#include "train/optim/optimizer.h"

namespace headroom {

struct AdamwOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  // Fused only: every number that changes between updates comes from a tensor, for a CUDA graph.
  // The kernel then adds eps after the bias correction, as torch.optim.AdamW does.
  bool is_captured = false;
};

// Update number t of all these tensors at once, in place. Its temporaries are one tensor of each
// parameter's size.
void adamw_in_place(at::TensorList parameters, at::TensorList gradients, at::TensorList m,
                    at::TensorList v, int64_t t, const AdamwOptions& options);

class Adamw : public Optimizer {
 public:
  Adamw(std::vector<torch::Tensor> parameters, OptimizerImpl impl, const AdamwOptions& options);

  // m and v of every parameter, and the step counts of the fused kernel.
  std::vector<torch::Tensor> state() const override;

 private:
  void update() override;
  void make_state(int64_t updates) override;
  void update_reference();
  void update_fused();

  OptimizerImpl impl_;
  AdamwOptions options_;
  std::vector<torch::Tensor> m_, v_;
  std::vector<torch::Tensor> steps_;  // fused only: t as a tensor per parameter
  torch::Tensor learning_rate_;       // captured only
};

}  // namespace headroom
