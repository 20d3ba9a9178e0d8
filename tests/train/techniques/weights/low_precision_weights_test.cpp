// Whole models with BF16 weights: --param-dtype, --master-weights and --rounding as applied by
// build_step.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/train/techniques/real_text.h"
#include "train/build.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr auto kCpu = torch::kCPU;

std::unique_ptr<Step> step_of(const RunSpec& spec) {
  std::vector<std::string> notes;
  auto step = build_step(spec, kCpu, &notes);
  EXPECT_TRUE(notes.empty());
  return step;
}

std::vector<double> losses_of(const RunSpec& spec, int64_t steps) {
  const auto step = step_of(spec);
  const Data data(spec, model_config(spec).vocab_size, kCpu, steps);
  std::vector<double> losses;
  for (int64_t i = 0; i < steps; ++i) {
    losses.push_back(step->run(data.batch(i)).item<double>());
  }
  return losses;
}

RunSpec bf16_spec() {
  RunSpec spec = tiny_spec();
  spec.weights = WeightType::kBf16;
  return spec;
}

TEST(LowPrecisionWeights, AreTheFp32InitializationRounded) {
  const auto fp32 = step_of(tiny_spec())->model()->parameters();
  const auto bf16 = step_of(bf16_spec())->model()->parameters();
  for (size_t i = 0; i < fp32.size(); ++i) {
    EXPECT_TRUE(bf16[i].equal(fp32[i].to(torch::kBFloat16))) << i;
    EXPECT_TRUE(bf16[i].requires_grad());
  }
}

// Everything that autograd keeps is BF16 except norms, rotary tables and log-sums.
TEST(LowPrecisionWeights, LogitsLossAndGradientsAreBf16) {
  for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
    RunSpec spec = bf16_spec();
    spec.attention = attention;
    const auto step = step_of(spec);
    const Batch batch = Data(spec, spec.vocab_size, kCpu, 1).batch(0);
    EXPECT_EQ(step->model()->forward(batch.tokens_BS).scalar_type(), torch::kBFloat16);
    EXPECT_EQ(step->run(batch).scalar_type(), torch::kBFloat16);
    for (const Tensor& parameter : step->model()->parameters()) {
      EXPECT_EQ(parameter.grad().scalar_type(), torch::kBFloat16);
    }
    for (const Tensor& state : step->update->state()) {
      EXPECT_EQ(state.scalar_type(), torch::kBFloat16);
    }
  }
}

// 2^-8 is half the relative distance between BF16 numbers; a step's loss is a mean of many, so its
// own rounding is most of the error.
TEST(LowPrecisionWeights, TheFirstLossIsFp32sWithinBf16sRounding) {
  for (const int64_t kv_heads : {4, 2}) {
    for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
      RunSpec fp32 = tiny_spec();
      fp32.attention = attention;
      fp32.kv_heads = kv_heads;
      RunSpec bf16 = fp32;
      bf16.weights = WeightType::kBf16;
      const double exact = losses_of(fp32, 1).front();
      EXPECT_NEAR(losses_of(bf16, 1).front(), exact, exact / 128);
    }
  }
}

double mean_of_last(const std::vector<double>& losses, size_t count) {
  double sum = 0;
  for (size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(count);
}

// 200 steps if HEADROOM_LONG is set (ctest -C nightly), otherwise 30.
int64_t real_text_steps() { return std::getenv("HEADROOM_LONG") != nullptr ? 200 : 30; }

TEST(LowPrecisionWeights, WithAMasterCopyTheLossOnRealTextIsAutocastsWithinTwoPercent) {
  const ScratchDirectory scratch;
  RunSpec spec = real_text_spec(scratch);
  const int64_t steps = real_text_steps();
  spec.precision = Precision::kBf16;
  const auto autocast = losses_of(spec, steps);
  spec.precision = Precision::kFp32;
  spec.weights = WeightType::kBf16;
  const auto loss_with = [&](MasterCopy master, Rounding rounding) {
    spec.master_weights = master;
    spec.rounding = rounding;
    return mean_of_last(losses_of(spec, steps), 10);
  };
  const double expected = mean_of_last(autocast, 10);
  EXPECT_LT(expected, 0.8 * autocast.front()) << "something is learned";
  const double mixed = loss_with(MasterCopy::kFp32, Rounding::kNearest);
  EXPECT_NEAR(mixed, expected, 0.02 * expected);
  if (!is_at_night()) return;
  const double stochastic = loss_with(MasterCopy::kNone, Rounding::kStochastic);
  const double pure = loss_with(MasterCopy::kNone, Rounding::kNearest);
  std::printf("after %lld steps: autocast %.4f, master copy %.4f, stochastic %.4f, nearest %.4f\n",
              static_cast<long long>(steps), expected, mixed, stochastic, pure);
  EXPECT_LT(stochastic, 0.85 * autocast.front());
}

}  // namespace
}  // namespace headroom
