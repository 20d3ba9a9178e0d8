#include "train/optim/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom {
namespace {

using torch::Tensor;

// Against the formula of adamw.h in double precision, over steps whose gradients differ by orders
// of magnitude, so that the place of epsilon and every bias correction shows.
TEST(Adamw, UpdatesAreThoseOfTheFormulaInEveryImplementation) {
  const AdamwOptions options{.learning_rate = 1e-2, .eps = 1e-4, .weight_decay = 0.1};
  for (const OptimizerImpl impl : info_of(OptimizerKind::kAdamw).implementations) {
    torch::manual_seed(3);
    std::vector<Tensor> p = {torch::randn({4, 6}), torch::randn({5}), torch::randn({3, 2, 7})};
    Adamw optimizer(p, impl, options);
    std::vector<Tensor> expected, m, v;
    for (const Tensor& tensor : p) {
      expected.push_back(tensor.to(torch::kDouble));
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
        const double error = (p[i].to(torch::kDouble) - expected[i]).abs().max().item<double>();
        EXPECT_LE(error, 1e-6) << to_string(impl) << ", step " << t << ", tensor " << i;
      }
    }
  }
}

// Like torch.optim.AdamW: p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps), all from
// tensors.
TEST(Adamw, ACapturedUpdateAddsEpsilonAfterTheBiasCorrection) {
  const AdamwOptions options{.learning_rate = 1e-2, .eps = 1e-4, .is_captured = true};
  torch::manual_seed(4);
  std::vector<Tensor> p = {torch::randn({4, 6})};
  Tensor expected = p[0].to(torch::kDouble);
  Tensor m = torch::zeros_like(expected), v = torch::zeros_like(expected);
  Adamw optimizer(p, OptimizerImpl::kFused, options);
  for (int t = 1; t <= 5; ++t) {
    p[0].mutable_grad() = torch::randn_like(p[0]) * std::pow(10.0, -t);
    const Tensor g = p[0].grad().to(torch::kDouble);
    m = options.beta1 * m + (1 - options.beta1) * g;
    v = options.beta2 * v + (1 - options.beta2) * g * g;
    expected -= options.learning_rate * options.weight_decay * expected;
    const Tensor root = v.sqrt() / std::sqrt(1 - std::pow(options.beta2, t));
    expected -= options.learning_rate / (1 - std::pow(options.beta1, t)) * m / (root + options.eps);
    optimizer.step();
    EXPECT_LE((p[0].to(torch::kDouble) - expected).abs().max().item<double>(), 1e-6) << t;
  }
}

}  // namespace
}  // namespace headroom
