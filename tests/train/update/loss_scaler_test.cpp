#include "train/update/loss_scaler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/train/support/tiny_spec.h"
#include "train/build.h"

namespace headroom {
namespace {

using torch::Tensor;

std::vector<Tensor> weights_of(Step& step) {
  std::vector<Tensor> copies;
  for (const Tensor& parameter : step.model()->parameters()) {
    copies.push_back(parameter.detach().clone());
  }
  return copies;
}

bool equal(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x.equal(y); });
}

std::unique_ptr<Step> scaled_step(const RunSpec& spec) {
  std::vector<std::string> notes;
  return build_step(spec, torch::kCPU, &notes);
}

Batch batch_of(const RunSpec& spec) { return Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0); }

TEST(LossScaler, FiniteGradientsAreDividedByTheScale) {
  LossScaler scaler(torch::kCPU, {.initial_scale = 1024});
  EXPECT_EQ(scaler.scale(torch::tensor(0.5F)).item<float>(), 512);
  const std::vector<Tensor> gradients = {torch::full({3}, 2048.0F), torch::full({2, 2}, 1.0F)};
  EXPECT_TRUE(scaler.unscale(gradients));
  EXPECT_TRUE(gradients[0].equal(torch::full({3}, 2.0F)));
  EXPECT_TRUE(gradients[1].equal(torch::full({2, 2}, 1.0F / 1024)));
}

TEST(LossScaler, OneInfinityOrNanAnywhereIsFoundAndHalvesTheScale) {
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    LossScaler scaler(torch::kCPU, {.initial_scale = 1024});
    const std::vector<Tensor> gradients = {torch::ones({3}), torch::ones({5, 7})};
    gradients[1][4][6] = bad;
    EXPECT_FALSE(scaler.unscale(gradients)) << bad;
    scaler.update();
    EXPECT_EQ(scaler.current_scale(), 512) << bad;
    EXPECT_TRUE(scaler.unscale({torch::ones({3})})) << "found_inf must not stick";
  }
}

TEST(LossScaler, GrowsAfterAnIntervalOfFiniteStepsInARow) {
  LossScaler scaler(torch::kCPU, {.initial_scale = 64, .growth_interval = 3});
  const auto step = [&](bool finite) {
    scaler.unscale({torch::full({1}, finite ? 1.0F : INFINITY)});
    scaler.update();
    return scaler.current_scale();
  };
  EXPECT_EQ(step(true), 64);
  EXPECT_EQ(step(true), 64);
  EXPECT_EQ(step(true), 128);
  EXPECT_EQ(step(true), 128);
  EXPECT_EQ(step(true), 128);
  EXPECT_EQ(step(false), 64);
  EXPECT_EQ(step(true), 64) << "the count begins again";
  EXPECT_EQ(step(true), 64);
  EXPECT_EQ(step(true), 128);
}

TEST(LossScaler, AStepWhoseGradientsOverflowChangesNoWeight) {
  RunSpec spec = tiny_spec();
  spec.precision = Precision::kFp16;
  const auto step = scaled_step(spec);
  const Batch batch = batch_of(spec);
  const double scale = std::ldexp(1, 40);  // beyond FP16 for any gradient
  step->update->loss_scaler =
      std::make_unique<LossScaler>(torch::kCPU, LossScalerOptions{.initial_scale = scale});
  const auto before = weights_of(*step);
  EXPECT_TRUE(std::isfinite(step->run(batch).item<double>())) << "the loss is printed unscaled";
  EXPECT_EQ(step->update->skipped_steps(), 1);
  EXPECT_TRUE(equal(weights_of(*step), before));
  EXPECT_EQ(step->update->loss_scaler->current_scale(), scale / 2);
  EXPECT_TRUE(step->update->state().empty()) << "a skipped step is no step of the optimizer";

  // The scale halves until the gradients fit.
  for (int i = 0; i < 120 && equal(weights_of(*step), before); ++i) step->run(batch);
  EXPECT_FALSE(equal(weights_of(*step), before));
  EXPECT_LT(step->update->loss_scaler->current_scale(), scale / 4);
}

TEST(LossScaler, FP16LossesAreNearThoseOfFP32) {
  RunSpec spec = tiny_spec();
  spec.learning_rate = 1e-2;
  const Batch batch = batch_of(spec);
  const auto fp32 = scaled_step(spec);
  spec.precision = Precision::kFp16;
  const auto fp16 = scaled_step(spec);
  // The first step reduces the default scale; this one fits at once.
  fp16->update->loss_scaler =
      std::make_unique<LossScaler>(torch::kCPU, LossScalerOptions{.initial_scale = 1024});
  double first = 0, last = 0;
  for (int i = 0; i < 6; ++i) {
    const double expected = fp32->run(batch).item<double>();
    const double loss = fp16->run(batch).item<double>();
    EXPECT_NEAR(loss, expected, 2e-3 * expected) << "step " << i;
    (i == 0 ? first : last) = loss;
  }
  EXPECT_EQ(fp16->update->skipped_steps(), 0);
  EXPECT_LT(last, first);
}

TEST(LossScaler, OnlyFP16WithABackwardHasOne) {
  RunSpec spec = tiny_spec();
  EXPECT_EQ(scaled_step(spec)->update->loss_scaler, nullptr);
  spec.precision = Precision::kBf16;
  EXPECT_EQ(scaled_step(spec)->update->loss_scaler, nullptr);
  spec.precision = Precision::kFp16;
  EXPECT_NE(scaled_step(spec)->update->loss_scaler, nullptr);
  spec.profile_type = Mode::kForwardGrad;
  EXPECT_EQ(scaled_step(spec)->update->loss_scaler, nullptr);
}

}  // namespace
}  // namespace headroom
