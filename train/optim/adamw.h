// AdamW (Loshchilov and Hutter 2019) in three implementations of the same update:
//   p -= lr * decay * p
//   m  = b1 m + (1 - b1) g        v = b2 v + (1 - b2) g^2
//   p -= lr * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + eps)
// Eight bytes of state per parameter (m and v in FP32).
#pragma once

#include <torch/torch.h>

#include <vector>

#include "train/spec.h"

namespace headroom {

struct AdamwOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};

class Adamw {
 public:
  Adamw(std::vector<torch::Tensor> parameters, OptimizerImpl impl, const AdamwOptions& options);

  // One update of every parameter that has a gradient. State is created at the first step.
  void step();

  // Drops every gradient (to undefined, not to zero).
  void release_gradients();

  // m and v of every parameter, and the step counts of the fused kernel, for accounting.
  std::vector<torch::Tensor> state() const;
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

 private:
  void step_reference();
  void step_foreach();
  void step_fused();
  double bias_corrected_rate() const;  // lr * sqrt(1 - b2^t) / (1 - b1^t)

  std::vector<torch::Tensor> parameters_;
  OptimizerImpl impl_;
  AdamwOptions options_;
  int64_t step_ = 0;  // t of the formula
  std::vector<torch::Tensor> m_, v_;
  std::vector<torch::Tensor> steps_;  // fused only: t as a tensor per parameter
};

}  // namespace headroom
