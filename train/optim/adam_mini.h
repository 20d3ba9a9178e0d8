// Adam-mini (Zhang et al. 2024, arXiv 2406.16793): AdamW with one second moment for each block of a
// parameter, the mean over it (Note [Adam-mini's partition] in train/optim/partition.h). One
// implementation:
//   m  = b1 m + (1 - b1) g        v = b2 v + (1 - b2) mean(g^2) of the block
//   p -= lr * decay * p
//   p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
// Four bytes of state per FP32 parameter (m has its type), and four for each block.
#pragma once

#include <string>

#include "train/kernels/operations/compiled_operation.h"
#include "train/optim/optimizer.h"

namespace headroom {

struct AdamMiniOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  int64_t head_dim = 0;             // rows per head in query and key weights
  OperationPtr compiled = nullptr;  // the update of the elements
};

class AdamMini : public Optimizer {
 public:
  // names: the parameters', as in a state_dict; they determine the partition.
  AdamMini(std::vector<torch::Tensor> parameters, const std::vector<std::string>& names,
           const AdamMiniOptions& options);

  // m of every parameter, then v of every parameter: (blocks, 1).
  std::vector<torch::Tensor> state() const override;

 private:
  void update() override;
  void make_state(int64_t updates) override;
  void update_one(size_t i);

  AdamMiniOptions options_;
  std::vector<int64_t> blocks_;  // by parameter
  std::vector<torch::Tensor> m_, v_;
};

}  // namespace headroom
