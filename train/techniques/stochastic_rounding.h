// Stochastic rounding of updates of BF16 weights without a master copy.
//
// Note [Stochastic rounding]
// Rationale: with rounding to nearest, an update smaller than half the distance to the next BF16
//   number is lost every time. Rounded up with the probability of the part that is cut off, it is
//   right on average (Gupta et al. 2015, "Deep Learning with Limited Numerical Precision", section
//   3; for BF16 weights: Zamirai et al. 2021, "Revisiting BFloat16 Training").
// Approach: tensor by tensor, weight, gradient and moments are widened to FP32, the optimizer
//   updates these, and weight and moments are rounded back in place. Between steps memory equals
//   that of plain BF16 updates; within a step one tensor has FP32 copies. Moments are rounded
//   stochastically too: one that decays by a thousandth a step would stand still.
// Limits: state with another shape than the parameter's (scales, step counts) is not rounded. Works
//   tensor by tensor in every --optimizer-impl. Random bits come from an own generator, reseeded
//   for each update: equal seeds give equal runs, and a run resumed from a checkpoint makes the
//   draws it would have made. The bits differ between devices.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/kernels/operations/compiled_operation.h"
#include "train/optim/optimizer.h"

namespace headroom {

// FP32 to BF16: takes the BF16 neighbour away from zero with the probability that makes the mean
// exact. BF16 numbers, infinities and NaN stay unchanged.
torch::Tensor round_stochastically(const torch::Tensor& fp32, const at::Generator& generator,
                                   const OperationPtr& compiled = nullptr);

class StochasticRounding : public Optimizer {
 public:
  StochasticRounding(std::vector<torch::Tensor> parameters, uint64_t seed,
                     const MakeOptimizer& make, OperationPtr compiled = nullptr);

  std::vector<torch::Tensor> state() const override;

 private:
  // One parameter's optimizer. Its weight and moments are FP32 during the update; at all other
  // times they share the memory of the BF16 values.
  struct Part {
    torch::Tensor weight;
    std::unique_ptr<Optimizer> optimizer;
    std::vector<torch::Tensor> kept;  // BF16 copies of its state; undefined where not rounded
  };
  void update() override;
  void make_state(int64_t updates) override;
  void update(torch::Tensor& parameter, Part& part);

  std::vector<Part> parts_;  // in the order of the parameters
  uint64_t seed_;
  at::Generator generator_;
  OperationPtr compiled_;  // the rounding
};

}  // namespace headroom
