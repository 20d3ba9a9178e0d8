#include "train/optim/lion.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

using torch::Tensor;

const LionOptions kLion = {.learning_rate = 0.1, .weight_decay = 0};

// The momentum and the gradient disagree: the sign is that of 0.9 of the one plus 0.1 of the other;
// only then does the momentum move, by a hundredth.
TEST(Lion, EveryElementMovesByTheRateAgainstTheInterpolationsSign) {
  for (const OptimizerImpl impl : info_of(OptimizerKind::kLion).implementations) {
    Tensor p = torch::zeros({4});
    Lion optimizer({p}, impl, kLion);
    p.mutable_grad() = torch::tensor({100.0F, 100.0F, -100.0F, 0.0F});
    optimizer.step();
    EXPECT_TRUE(torch::allclose(p, torch::tensor({-0.1F, -0.1F, 0.1F, 0.0F}))) << to_string(impl);
    EXPECT_TRUE(torch::allclose(optimizer.state()[0], torch::tensor({1.0F, 1.0F, -1.0F, 0.0F})));
    // 0.9 * 1 - 0.1 * 8 > 0, 0.9 * 1 - 0.1 * 10 < 0.
    p.mutable_grad() = torch::tensor({-8.0F, -10.0F, 8.0F, 1e-30F});
    optimizer.step();
    EXPECT_TRUE(torch::allclose(p, torch::tensor({-0.2F, 0.0F, 0.2F, -0.1F}))) << to_string(impl);
    EXPECT_TRUE(
        torch::allclose(optimizer.state()[0], torch::tensor({0.91F, 0.89F, -0.91F, 1e-32F})))
        << to_string(impl);
  }
}

TEST(Lion, WeightDecayIsDecoupled) {
  Tensor p = torch::ones({3});
  p.mutable_grad() = torch::zeros({3});
  Lion optimizer({p}, OptimizerImpl::kReference, {.learning_rate = 0.1, .weight_decay = 0.5});
  optimizer.step();
  EXPECT_TRUE(torch::allclose(p, torch::full({3}, 0.95)));
}

}  // namespace
}  // namespace headroom
