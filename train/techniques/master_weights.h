// Master weights: the optimizer updates an FP32 copy of BF16 weights.
//
// Note [Master weights]
// Rationale: a BF16 number has eight significant bits, so an update smaller than 1/512 of a weight
//   is rounded away. Mixed-precision training accumulates updates in an FP32 copy (Micikevicius et
//   al. 2018, "Mixed Precision Training", section 3.1).
// Approach: the optimizer's parameters are the copies. It gets the gradients in FP32, and after it
//   the weights are set to the rounded copies. Its state is FP32, like the copies. Gradients stay
//   BF16 (2 + 2 + 4 bytes per parameter and the optimizer's state): FP32 gradients live only during
//   the update. If the optimizer works tensor by tensor, so does this, with one FP32 gradient at a
//   time; an update of all tensors at once needs all of them, 4 more bytes per parameter at the end
//   of a step.
// Limits: the copies begin as the rounded weights, except where load_weights() fills them. No loss
//   scaling: BF16 has the range of FP32.
#pragma once

#include <memory>
#include <vector>

#include "train/optim/optimizer.h"

namespace headroom {

class MasterWeights : public Optimizer {
 public:
  enum class Updates { kTensorByTensor, kAllAtOnce };
  MasterWeights(std::vector<torch::Tensor> parameters, Updates updates, const MakeOptimizer& make);

  std::vector<torch::Tensor> state() const override;
  std::vector<torch::Tensor> master_weights() const override { return masters_; }

 private:
  // The parameters [begin, end), and the optimizer of their copies.
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    std::unique_ptr<Optimizer> optimizer;
  };
  void update() override;
  void make_state(int64_t updates) override;

  std::vector<torch::Tensor> masters_;  // FP32, in the order of the parameters
  std::vector<Part> parts_;
};

}  // namespace headroom
