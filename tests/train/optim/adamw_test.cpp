// The contract every optimizer implementation keeps. A new one joins by a line at the end.
#include "train/optim/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom {
namespace {

using torch::Tensor;

struct Case {
  OptimizerImpl impl;
  int64_t bytes_per_tensor;  // of state, on top of the eight bytes per element
};

class OptimizerContract : public testing::TestWithParam<Case> {
 protected:
  Adamw optimizer_of(const std::vector<Tensor>& parameters, const AdamwOptions& options = {}) {
    return Adamw(parameters, GetParam().impl, options);
  }
};

std::vector<Tensor> parameters() {
  torch::manual_seed(3);
  std::vector<Tensor> all = {torch::randn({4, 6}), torch::randn({5}), torch::randn({3, 2, 7})};
  for (Tensor& p : all) p.set_requires_grad(true);
  return all;
}

// Sum of squared distances from one half.
Tensor quadratic(const std::vector<Tensor>& parameters) {
  Tensor loss = torch::zeros({});
  for (const Tensor& p : parameters) loss = loss + (p - 0.5).square().sum();
  return loss;
}

TEST_P(OptimizerContract, KeepsEightBytesPerParameter) {
  auto p = parameters();
  Adamw optimizer = optimizer_of(p);
  EXPECT_TRUE(optimizer.state().empty()) << "made at the first step";
  for (int i = 0; i < 2; ++i) {
    quadratic(p).backward();
    optimizer.step();
    int64_t bytes = 0;
    for (const Tensor& tensor : optimizer.state()) bytes += static_cast<int64_t>(tensor.nbytes());
    EXPECT_EQ(bytes, 8 * (24 + 5 + 42) + 3 * GetParam().bytes_per_tensor);
  }
}

TEST_P(OptimizerContract, EveryStepLowersAQuadraticLoss) {
  auto p = parameters();
  Adamw optimizer = optimizer_of(p, {.learning_rate = 1e-2});
  double before = quadratic(p).item<double>();
  for (int i = 0; i < 5; ++i) {
    quadratic(p).backward();
    optimizer.step();
    optimizer.release_gradients();
    const double after = quadratic(p).item<double>();
    EXPECT_LT(after, before);
    before = after;
  }
}

// Against the formula of adamw.h in double precision, over steps whose gradients differ by orders
// of magnitude: what epsilon is added to, and every bias correction, shows.
TEST_P(OptimizerContract, UpdatesAreThoseOfTheFormula) {
  auto p = parameters();
  const AdamwOptions options{.learning_rate = 1e-2, .eps = 1e-4, .weight_decay = 0.1};
  Adamw optimizer = optimizer_of(p, options);
  std::vector<Tensor> expected, m, v;
  for (const Tensor& tensor : p) {
    expected.push_back(tensor.detach().to(torch::kDouble));
    m.push_back(torch::zeros_like(expected.back()));
    v.push_back(torch::zeros_like(expected.back()));
  }
  for (int t = 1; t <= 5; ++t) {
    for (size_t i = 0; i < p.size(); ++i) {
      p[i].mutable_grad() = torch::randn_like(p[i]) * std::pow(10.0, 1 - t);
      const Tensor g = p[i].grad().to(torch::kDouble);
      expected[i] -= options.learning_rate * options.weight_decay * expected[i];
      m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
      const double rate = options.learning_rate * std::sqrt(1 - std::pow(options.beta2, t)) /
                          (1 - std::pow(options.beta1, t));
      expected[i] -= rate * m[i] / (v[i].sqrt() + options.eps);
    }
    optimizer.step();
    for (size_t i = 0; i < p.size(); ++i) {
      const double error =
          (p[i].detach().to(torch::kDouble) - expected[i]).abs().max().item<double>();
      EXPECT_LE(error, 1e-6) << "step " << t << ", tensor " << i;
    }
  }
}

TEST_P(OptimizerContract, ReleasedGradientsAreGoneNotZero) {
  auto p = parameters();
  Adamw optimizer = optimizer_of(p);
  quadratic(p).backward();
  optimizer.step();
  optimizer.release_gradients();
  for (const Tensor& tensor : p) EXPECT_FALSE(tensor.grad().defined());
}

TEST_P(OptimizerContract, AParameterWithoutAGradientIsRefusedBeforeAnyChange) {
  auto p = parameters();
  Adamw optimizer = optimizer_of(p);
  quadratic({p[0], p[1]}).backward();
  const Tensor before = p[0].detach().clone();
  EXPECT_THROW(optimizer.step(), c10::Error);
  EXPECT_TRUE(p[0].equal(before));
}

INSTANTIATE_TEST_SUITE_P(Adamw, OptimizerContract,
                         testing::Values(Case{OptimizerImpl::kReference, 0},
                                         Case{OptimizerImpl::kForeach, 0},
                                         Case{OptimizerImpl::kFused, sizeof(float)}),
                         [](const auto& info) { return to_string(info.param.impl); });

}  // namespace
}  // namespace headroom
