// Stochastic rounding of updates of BF16 weights that have no master copy.
//
// Note [Stochastic rounding]
// Rationale: rounded to nearest, an update smaller than half the distance to the next BF16 number
//   is lost every time. Rounded up with the probability of what is cut off, it is right on average
//   (Gupta et al. 2015, "Deep Learning with Limited Numerical Precision", section 3; of BF16
//   weights: Zamirai et al. 2021, "Revisiting BFloat16 Training").
// Approach: tensor by tensor, weight, gradient and moments are widened to FP32, the optimizer
//   updates these, and weight and moments are rounded back into where they are kept. Between steps
//   there are as many bytes as with plain BF16 updates; within one, FP32 copies of one tensor. The
//   moments as well, because a moment that decays by a thousandth a step would stand still.
// Limits: state of another shape than the parameter's (scales, step counts) stays as the optimizer
//   keeps it. Tensor by tensor in every --optimizer-impl. Random bits from a generator of its own,
//   seeded anew for each update, so that the same seed gives the same run and one that goes on from
//   a checkpoint draws what it would have drawn; they differ between devices.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/optim/optimizer.h"

namespace headroom {

// FP32 to BF16: of the two BF16 neighbours the one away from zero with the probability that makes
// the mean the number itself. BF16 numbers, infinities and NaN stay what they are.
torch::Tensor round_stochastically(const torch::Tensor& fp32, const at::Generator& generator);

class StochasticRounding : public Optimizer {
 public:
  StochasticRounding(std::vector<torch::Tensor> parameters, uint64_t seed,
                     const MakeOptimizer& make);

  std::vector<torch::Tensor> state() const override;

 private:
  // One parameter's optimizer. Its weight and moments are FP32 while it updates and share the
  // memory of what is kept at all other times.
  struct Part {
    torch::Tensor weight;
    std::unique_ptr<Optimizer> optimizer;
    std::vector<torch::Tensor> kept;  // of its state: BF16; undefined where it stays as it is
  };
  void update() override;
  void make_state(int64_t updates) override;
  void update(torch::Tensor& parameter, Part& part);

  std::vector<Part> parts_;  // in the order of the parameters
  uint64_t seed_;
  at::Generator generator_;
};

}  // namespace headroom
