#include "train/techniques/precision.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/support/heard.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"

namespace headroom {
namespace {

using torch::Tensor;

bool enabled() { return at::autocast::is_autocast_enabled(torch::kCPU); }
at::ScalarType dtype() { return at::autocast::get_autocast_dtype(torch::kCPU); }

// The number of active guards.
int depth() {
  at::autocast::increment_nesting();
  return at::autocast::decrement_nesting();
}

struct Bf16Step {
  Bf16Step() {
    RunSpec spec = tiny_spec();
    spec.profile_type = Mode::kForwardBackward;
    spec.precision = Precision::kBf16;
    std::vector<std::string> notes;
    step = build_step(spec, torch::kCPU, &notes);
    batch = Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0);
    uniform_loss = std::log(static_cast<double>(spec.vocab_size));
  }
  double loss() const { return step->run(batch).item<double>(); }
  // With no output weights every token is as likely as any other.
  void zero_output_weights() const {
    const torch::NoGradGuard no_grad;
    step->model()->named_parameters()["lm_head.weight"].zero_();
  }

  std::unique_ptr<Step> step;
  Batch batch;
  double uniform_loss = 0;
};

TEST(Autocast, WeightsChangedInPlaceAreSeenByTheNextStep) {
  const Bf16Step bf16;
  const double before = bf16.loss();
  ASSERT_GT(std::abs(before - bf16.uniform_loss), 0.05);
  bf16.zero_output_weights();
  EXPECT_NEAR(bf16.loss(), bf16.uniform_loss, 0.02);
}

// A product that autocast caches on the CPU; --kernels eager has none there (Note [The cast
// cache]).
double step_on(const Tensor& weight) {
  const AutocastGuard autocast(Precision::kBf16, torch::kCPU);
  return torch::linear(torch::ones({1, 4}), weight).sum().item<double>();
}

void zero(Tensor& weight) {
  const torch::NoGradGuard no_grad;
  weight.zero_();
}

TEST(Autocast, TheOutermostGuardTakesTheCastCacheWithIt) {
  Tensor weight = torch::ones({4, 4}, torch::requires_grad());
  EXPECT_EQ(step_on(weight), 16);
  zero(weight);
  EXPECT_EQ(step_on(weight), 0);
}

// The fault described in Note [The cast cache]: a guard around both steps keeps the cache alive
// between them.
TEST(Autocast, WithoutClearingTheCacheTheNextStepComputesWithOldWeights) {
  Tensor weight = torch::ones({4, 4}, torch::requires_grad());
  const AutocastGuard around_both(Precision::kBf16, torch::kCPU);
  EXPECT_EQ(step_on(weight), 16);
  zero(weight);
  EXPECT_EQ(step_on(weight), 16);
  at::autocast::clear_cache();
  EXPECT_EQ(step_on(weight), 0);
}

TEST(Autocast, GuardsNestAndRestoreWhatWas) {
  const auto dtype_before = dtype();
  ASSERT_FALSE(enabled());
  {
    const AutocastGuard outer(Precision::kBf16, torch::kCPU);
    EXPECT_TRUE(enabled());
    EXPECT_EQ(dtype(), at::kBFloat16);
    {
      const AutocastGuard inner(Precision::kFp16, torch::kCPU);
      EXPECT_EQ(dtype(), at::kHalf);
    }
    EXPECT_TRUE(enabled());
    EXPECT_EQ(dtype(), at::kBFloat16);
    EXPECT_EQ(depth(), 1);
  }
  EXPECT_FALSE(enabled());
  EXPECT_EQ(dtype(), dtype_before);
  EXPECT_EQ(depth(), 0);
}

TEST(Autocast, NothingIsTurnedOnForFp32AndTf32) {
  for (const Precision precision : {Precision::kFp32, Precision::kTf32}) {
    const AutocastGuard guard(precision, torch::kCPU);
    EXPECT_FALSE(enabled());
    EXPECT_EQ(depth(), 0);
  }
}

TEST(Autocast, AStepThatThrowsLeavesNothingOn) {
  const Bf16Step bf16;
  const auto dtype_before = dtype();
  const BlockRunner run_block = bf16.step->run_block;
  bf16.step->run_block = [&](int64_t index, TransformerBlock& block,
                             const Tensor& x_BSD) -> Tensor {
    run_block(index, block, x_BSD);
    throw std::runtime_error("in the middle of the forward");
  };
  EXPECT_THROW(bf16.step->run(bf16.batch), std::runtime_error);
  EXPECT_FALSE(enabled());
  EXPECT_EQ(dtype(), dtype_before);
  EXPECT_EQ(depth(), 0);
  bf16.step->run_block = run_block;
  bf16.zero_output_weights();
  EXPECT_NEAR(bf16.loss(), bf16.uniform_loss, 0.02);
}

TEST(Autocast, WeightsAndGradientsStayFp32) {
  const Bf16Step bf16;
  std::vector<at::ScalarType> gradients;
  for (const Tensor& parameter : bf16.step->model()->parameters()) {
    EXPECT_EQ(parameter.scalar_type(), at::kFloat);
    parameter.register_hook([&](Tensor g) { gradients.push_back(g.scalar_type()); });
  }
  bf16.loss();
  EXPECT_EQ(gradients,
            std::vector<at::ScalarType>(bf16.step->model()->parameters().size(), at::kFloat));
}

// Each weight is cast once, and other casts are not tagged.
TEST(Autocast, ItsCopiesOfWeightsAreTaggedAsCastCacheWhereSomebodyListens) {
  const Tensor weight = torch::ones({4, 4}, torch::requires_grad());
  const Tensor other = torch::ones({4, 4}, torch::requires_grad());
  const Tensor input = torch::ones({3, 4});
  Heard heard;
  Tensor copy;
  {
    const AutocastGuard guard(Precision::kBf16, torch::kCPU, &heard, {weight});
    torch::matmul(torch::matmul(input, weight), weight);
    torch::matmul(input, other);
    input.to(torch::kHalf);
    EXPECT_EQ(heard.tags.size(), 1U);
    EXPECT_EQ(heard.tags[Category::kCastCache].size(), 1U);
    {
      const AutocastGuard inner(Precision::kBf16, torch::kCPU, &heard, {other});
      copy = other.to(torch::kHalf);
      weight.to(torch::kHalf);  // not one of the inner guard's weights
    }
    ASSERT_EQ(heard.tags[Category::kCastCache].size(), 2U);
    EXPECT_EQ(heard.tags[Category::kCastCache].back(),
              reinterpret_cast<uint64_t>(copy.storage().data()));
    weight.to(torch::kHalf);
    EXPECT_EQ(heard.tags[Category::kCastCache].size(), 3U);
  }
  weight.to(torch::kHalf);
  EXPECT_EQ(heard.tags[Category::kCastCache].size(), 3U) << "nothing is watched any more";
}

TEST(Precision, BF16IsKeptOnTheCpu) {
  std::string note;
  EXPECT_EQ(supported_precision(Precision::kBf16, torch::kCPU, &note), Precision::kBf16);
  EXPECT_EQ(note, "");
}

TEST(Precision, TF32OnTheCpuIsFp32AndSaysSo) {
  std::string note;
  EXPECT_EQ(supported_precision(Precision::kTf32, torch::kCPU, &note), Precision::kFp32);
  EXPECT_NE(note, "");
}

TEST(Precision, TF32IsASwitchOfTheProcess) {
  set_matmul_precision(Precision::kTf32);
  EXPECT_EQ(at::globalContext().float32MatmulPrecision(), at::Float32MatmulPrecision::HIGH);
  set_matmul_precision(Precision::kFp32);
  EXPECT_EQ(at::globalContext().float32MatmulPrecision(), at::Float32MatmulPrecision::HIGHEST);
}

}  // namespace
}  // namespace headroom
