// Master weights: the optimizer updates an FP32 copy of BF16 weights.
//
// Note [Master weights]
// Rationale: a BF16 number has eight significant bits, so an update smaller than 1/512 of a weight
//   is rounded away. Mixed-precision training keeps an FP32 copy for the updates to add up in
//   (Micikevicius et al. 2018, "Mixed Precision Training", section 3.1).
// Approach: the optimizer's parameters are the copies; it is given the gradients in FP32, and the
//   weights are the copies rounded after it. Its state is FP32, as the copies are. Gradients stay
//   BF16 (2 + 2 + 4 bytes per parameter and the optimizer's state): those in FP32 live for the
//   update only. Where the optimizer works tensor by tensor, so does this, and one tensor's
//   gradient is there in FP32 at a time; an update of all tensors at once needs all of them, 4
//   bytes per parameter more at the end of a step.
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
  // The parameters [begin, end), and what updates their copies.
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
