#include "train/techniques/clipping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

#include "tests/files/scratch_directory.h"
#include "tests/support/at_night.h"
#include "tests/train/support/heard.h"
#include "tests/train/techniques/small_step.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

using torch::Tensor;

std::vector<Tensor> some_gradients() {
  torch::manual_seed(5);
  return {torch::randn({401}), torch::randn({31}) * 100, torch::randn({5000}) * 1e-3,
          torch::zeros({3})};
}

std::vector<Tensor> copies(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.clone());
  return all;
}

// The results of PyTorch in Python for each norm: the gradients, then the norm. Empty without
// PyTorch.
std::vector<std::vector<Tensor>> by_python(const std::vector<Tensor>& gradients,
                                           const std::vector<double>& max_norms) {
  const ScratchDirectory scratch;
  std::ostringstream command;
  std::string bytes;
  std::vector<int64_t> sizes;
  command.precision(17);
  const std::string path = scratch.file("gradients");
  command << HEADROOM_TORCH_PYTHON << " " HEADROOM_SOURCES
          << "/tests/train/techniques/clip_grad_norm.py " << path << ' ';
  for (const double max_norm : max_norms) {
    command << (max_norm == max_norms.front() ? "" : ",") << max_norm;
  }
  for (const Tensor& gradient : gradients) {
    bytes.append(static_cast<const char*>(gradient.data_ptr()), gradient.nbytes());
    sizes.push_back(gradient.numel());
    command << ' ' << gradient.numel();
  }
  sizes.push_back(1);
  scratch.write("gradients", bytes);
  if (std::system(command.str().c_str()) != 0) return {};
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const auto norms = static_cast<int64_t>(max_norms.size());
  Tensor values = torch::empty({norms, count});
  std::ifstream(path, std::ios::binary)
      .read(static_cast<char*>(values.data_ptr()), static_cast<std::streamsize>(values.nbytes()));
  std::vector<std::vector<Tensor>> results;
  for (const Tensor& of_one : values.unbind()) results.push_back(of_one.split_with_sizes(sizes));
  return results;
}

TEST(Clipping, NumbersAreThoseOfPyTorchsPythonBitForBit) {
  if (!std::ifstream(HEADROOM_TORCH_PYTHON)) GTEST_SKIP() << "no Python with torch";
  const std::vector<double> max_norms = {1.0, 250.0, 1e6};
  const auto results = by_python(some_gradients(), max_norms);
  ASSERT_EQ(results.size(), max_norms.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const double max_norm = max_norms[i];
    std::vector<Tensor> expected = results[i];
    ASSERT_EQ(expected.size(), 5U);
    const Tensor norm = expected.back().squeeze();
    expected.pop_back();
    const std::vector<Tensor> clipped = some_gradients();
    EXPECT_TRUE(clip_gradients(clipped, max_norm).equal(norm)) << max_norm;
    EXPECT_TRUE(bit_equal(clipped, expected)) << max_norm;
    EXPECT_EQ(bit_equal(clipped, some_gradients()), max_norm == 1e6);
  }
}

TEST(Clipping, WhatIsNotFiniteIsPassedOnAsTorchDoes) {
  std::vector<Tensor> gradients = some_gradients();
  gradients[1][7] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(torch::isinf(clip_gradients(gradients, 1)).item<bool>());
  EXPECT_TRUE(gradients[0].equal(torch::zeros({401})));
  EXPECT_TRUE(torch::isnan(gradients[1][7]).item<bool>()) << "infinity times zero";
  gradients = some_gradients();
  gradients[1][7] = std::numeric_limits<float>::quiet_NaN();
  clip_gradients(gradients, 1);
  for (const Tensor& gradient : gradients) EXPECT_TRUE(torch::isnan(gradient).all().item<bool>());
}

TEST(Clipping, AParameterWithoutAGradientIsLeftOut) {
  std::vector<Tensor> some = some_gradients();
  const double norm = clip_gradients(copies(some), 1).item<double>();
  some.insert(some.begin(), Tensor());
  EXPECT_EQ(clip_gradients(some, 1).item<double>(), norm);
  EXPECT_EQ(clip_gradients({Tensor()}, 1).item<double>(), 0);
}

RunSpec clipped(double max_grad_norm) {
  RunSpec spec = tiny_spec();
  spec.max_grad_norm = max_grad_norm;
  // Updates of SGD are proportional to the gradients' length, unlike those of AdamW.
  spec.optimizer = OptimizerKind::kSgd;
  return spec;
}

double norm_of(const std::vector<Tensor>& gradients) {
  double sum = 0;
  for (const Tensor& gradient : gradients) sum += gradient.square().sum().item<double>();
  return std::sqrt(sum);
}

TEST(Clipping, AStepUpdatesByGradientsOfThisNorm) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    RunSpec spec = clipped(0);
    spec.precision = precision;
    SmallStep usual(spec);
    usual.run();
    const double norm = norm_of(usual.gradients());
    spec.max_grad_norm = norm / 10;
    SmallStep step(spec);
    step.run();
    EXPECT_NEAR(norm_of(step.gradients()), norm / 10, 1e-5 * norm) << to_string(precision);
    std::vector<Tensor> tenth;
    for (const Tensor& gradient : usual.gradients()) tenth.push_back(gradient / 10);
    EXPECT_LE(distance(step.gradients(), tenth), 1e-5) << to_string(precision);
    EXPECT_FALSE(bit_equal(step.parameters(), usual.parameters()));
    spec.max_grad_norm = norm * 10;
    SmallStep beyond(spec);
    beyond.run();
    EXPECT_TRUE(bit_equal(beyond.parameters(), usual.parameters())) << to_string(precision);
  }
}

// Clips the true gradients, not those scaled for FP16.
TEST(Clipping, ComesAfterTheLossScaleIsDividedOut) {
  RunSpec spec = clipped(0.05);
  spec.precision = Precision::kFp16;
  SmallStep step(spec);
  const std::vector<Tensor> before = step.parameters();
  int64_t steps = 0;
  while (steps < 20 && bit_equal(step.parameters(), before)) step.run(steps++);
  ASSERT_LT(steps, 20) << "every step was skipped";
  EXPECT_NEAR(norm_of(step.gradients()), 0.05, 1e-5);
}

TEST(Clipping, WithMicroBatchesTheSumIsClipped) {
  RunSpec spec = clipped(0.05);
  spec.batch_size = 4;
  SmallStep whole(spec);
  whole.run();
  spec.micro_batches = 2;
  SmallStep step(spec);
  step.run();
  EXPECT_LE(distance(step.gradients(), whole.gradients()), 1e-5);
  EXPECT_NEAR(norm_of(step.gradients()), 0.05, 1e-6);
}

TEST(Clipping, IsAPhaseInsideTheOptimizers) {
  RunSpec spec = clipped(1);
  spec.layers = 1;
  const SmallStep small(spec);
  Heard heard;
  const Listening listening(*small.step, &heard);
  small.step->run(small.data.batch(0));
  heard.texts.erase(heard.texts.begin(), heard.texts.end() - 4);
  EXPECT_THAT(heard.texts,
              testing::ElementsAre("+optimizer", "+clipping", "-clipping", "-optimizer"));
}

TEST(Clipping, StepsAreDeterministic) {
  const int64_t steps = many_steps(20);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    RunSpec spec = clipped(0.5);
    spec.precision = precision;
    const std::vector<double> losses = SmallStep(spec).run_steps(steps);
    EXPECT_EQ(SmallStep(spec).run_steps(steps), losses) << to_string(precision);
  }
}

}  // namespace
}  // namespace headroom
