#include "train/techniques/master_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/optim/optimizer_cases.h"
#include "tests/train/support/heard.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

using torch::Tensor;
using Updates = MasterWeights::Updates;

std::vector<Tensor> bf16_parameters() {
  torch::manual_seed(3);
  std::vector<Tensor> all;
  for (const auto& shape : std::vector<std::vector<int64_t>>{{4, 6}, {5}, {3, 2, 7}}) {
    all.push_back(torch::randn(shape).to(torch::kBFloat16).set_requires_grad(true));
  }
  return all;
}

std::vector<Tensor> in_fp32(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.detach().to(torch::kFloat32));
  return all;
}

class MasterWeightsTest : public testing::TestWithParam<OptimizerCase> {
 protected:
  MakeOptimizer make() const { return maker_of(spec_); }

  const RunSpec spec_ = spec_of(GetParam());
};

// The update is in FP32, as for an optimizer with FP32 weights and the same gradients.
TEST_P(MasterWeightsTest, MastersAreAnFp32OptimizersWeightsAndTheWeightsAreTheirNearest) {
  for (const Updates updates : {Updates::kTensorByTensor, Updates::kAllAtOnce}) {
    const auto p = bf16_parameters();
    auto expected = in_fp32(p);
    MasterWeights optimizer(p, updates, make());
    const auto alone = make()(expected, 0);
    for (int t = 0; t < 5; ++t) {
      for (size_t i = 0; i < p.size(); ++i) {
        p[i].mutable_grad() = torch::randn_like(p[i]);
        expected[i].mutable_grad() = p[i].grad().to(torch::kFloat32);
      }
      optimizer.step();
      alone->step();
      const auto masters = optimizer.master_weights();
      for (size_t i = 0; i < p.size(); ++i) {
        EXPECT_TRUE(masters[i].equal(expected[i])) << "step " << t << ", tensor " << i;
        EXPECT_TRUE(p[i].equal(expected[i].to(torch::kBFloat16)));
        EXPECT_EQ(p[i].grad().scalar_type(), torch::kBFloat16);
        EXPECT_FALSE(masters[i].grad().defined()) << "the FP32 gradient is of the update alone";
      }
    }
  }
}

TEST_P(MasterWeightsTest, KeepTheStateOfTheOptimizerInItsOrder) {
  for (const Updates updates : {Updates::kTensorByTensor, Updates::kAllAtOnce}) {
    const auto p = bf16_parameters();
    const auto fp32 = in_fp32(p);
    MasterWeights optimizer(p, updates, make());
    const auto alone = make()(fp32, 0);
    for (size_t i = 0; i < p.size(); ++i) {
      p[i].mutable_grad() = torch::ones_like(p[i]);
      fp32[i].mutable_grad() = torch::ones_like(fp32[i]);
    }
    optimizer.step();
    alone->step();
    const auto state = optimizer.state();
    const auto expected = alone->state();
    ASSERT_EQ(state.size(), expected.size());
    for (size_t i = 0; i < state.size(); ++i) {
      EXPECT_EQ(state[i].sizes(), expected[i].sizes());
      EXPECT_EQ(state[i].scalar_type(), expected[i].scalar_type());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MasterWeightsTest, testing::ValuesIn(every_optimizer()),
                         name_of_case);

// 1 + 2^-10 is not a BF16 number, and neither is any of the sums before the fourth.
TEST(MasterWeights, UpdatesTooSmallForBf16AddUp) {
  const double small = std::pow(2.0, -10);
  const auto weight_after = [&](int steps, bool with_master) {
    const RunSpec spec{.optimizer = OptimizerKind::kSgd, .learning_rate = small, .weight_decay = 0};
    const MakeOptimizer make = maker_of(spec);
    const Tensor weight = torch::ones({3}, torch::kBFloat16);
    std::unique_ptr<Optimizer> optimizer = make({weight}, 0);
    if (with_master) {
      optimizer = std::make_unique<MasterWeights>(std::vector<Tensor>{weight},
                                                  Updates::kTensorByTensor, make);
    }
    for (int i = 0; i < steps; ++i) {
      // Cancels the momentum of 0.9: every update is the learning rate.
      weight.mutable_grad() = torch::full_like(weight, i == 0 ? -1.0 : -0.1);
      optimizer->step();
    }
    return weight[0].item<double>();
  };
  EXPECT_EQ(weight_after(40, false), 1) << "every update is rounded away";
  EXPECT_NEAR(weight_after(40, true), 1 + 40 * small, 0.004);
}

TEST(MasterWeights, AreTaggedWithTheNamesOfTheirParameters) {
  RunSpec spec = tiny_spec();
  spec.weights = WeightType::kBf16;
  spec.master_weights = MasterCopy::kFp32;
  std::vector<std::string> notes;
  const auto step = build_step(spec, torch::kCPU, &notes);
  Heard heard;
  const Listening listening(*step, &heard, &heard);
  EXPECT_EQ(heard.tags[Category::kMasterWeights].size(), step->model()->parameters().size());
  EXPECT_EQ(heard.names[Category::kMasterWeights], step->model()->named_parameters().keys());
}

}  // namespace
}  // namespace headroom
