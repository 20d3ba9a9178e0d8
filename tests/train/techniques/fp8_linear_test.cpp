#include "train/techniques/fp8_linear.h"

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <limits>
#include <map>

#include "tests/train/techniques/real_text.h"
#include "tests/train/techniques/small_step.h"
#include "train/data/safetensors.h"
#include "train/techniques/precision.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr auto kE4m3 = torch::kFloat8_e4m3fn;
constexpr auto kE5m2 = torch::kFloat8_e5m2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor decoded(const Fp8Tensor& quantized) {
  return quantized.codes.to(torch::kFloat32) * quantized.scale;
}

// The results of tests/baselines/fp8/make.py, FP32.
std::map<std::string, Tensor> baseline() {
  const SafetensorsFile file(HEADROOM_BASELINES "/fp8/projection.safetensors");
  std::map<std::string, Tensor> tensors;
  for (const auto& [key, entry] : file.entries()) {
    tensors[key] = torch::from_blob(const_cast<void*>(entry.data), entry.shape).clone();
  }
  return tensors;
}

class Fp8Linear : public testing::Test {
 protected:
  Fp8Linear() {
    torch::manual_seed(1);
    x = torch::randn({2, 16, 48}).requires_grad_(true);
    weight = torch::randn({32, 48}).requires_grad_(true);
  }
  Tensor x, weight;
};

TEST_F(Fp8Linear, CodesAndScalesAreThoseOfTheFormatsDefinition) {
  const auto expected = baseline();
  for (const auto& [name, type] :
       std::map<std::string, at::ScalarType>{{"x", kE4m3}, {"weight", kE4m3}, {"dy", kE5m2}}) {
    for (const auto source : {torch::kFloat32, torch::kBFloat16}) {
      if (source == torch::kBFloat16 && name != "dy") continue;  // not BF16 numbers
      const Fp8Tensor quantized = to_fp8(expected.at(name).to(source), type);
      EXPECT_TRUE(quantized.scale.equal(expected.at(name + "_scale"))) << name;
      EXPECT_TRUE(quantized.codes.to(torch::kFloat32).equal(expected.at(name + "_codes"))) << name;
    }
  }
}

// FP32 sums in another order may round to the neighbouring BF16 number, 2^-8 away.
TEST_F(Fp8Linear, AllThreeProductsAreThoseOfTheFormatsDefinition) {
  const auto expected = baseline();
  const Tensor in = expected.at("x").view({2, 16, -1}).requires_grad_(true);
  const Tensor matrix = expected.at("weight").clone().requires_grad_(true);
  const Tensor y = fp8_linear(in, matrix);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  y.backward(expected.at("dy").to(torch::kBFloat16).view({2, 16, -1}));
  const auto expect_near = [&](const Tensor& actual, const std::string& name) {
    const Tensor wanted = expected.at(name);
    const double largest = wanted.abs().max().item<double>();
    EXPECT_TRUE(torch::allclose(actual.to(torch::kFloat32).view_as(wanted), wanted,
                                /*rtol=*/1.0 / 128, /*atol=*/1e-6 * largest))
        << name;
  };
  expect_near(y.detach(), "y");
  expect_near(in.grad(), "dx");
  expect_near(matrix.grad(), "dweight");
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(fp8_linear(in, matrix).equal(y.detach())) << "without a graph the same";
}

// Half a step is 1/16 of a number in e4m3, 1/8 in e5m2; half the smallest number below the normal
// range.
TEST_F(Fp8Linear, NumbersAreOffByHalfAStepOfTheFormatAndZerosStayZeros) {
  const Tensor numbers = torch::randn({64, 64}) * torch::exp2(torch::randint(-20, 4, {64, 64}));
  const double largest = numbers.abs().max().item<double>();
  const auto off = [&](at::ScalarType type) {
    return (decoded(to_fp8(numbers, type)) - numbers).abs();
  };
  EXPECT_TRUE((off(kE4m3) <= torch::clamp_min(numbers.abs() / 16, largest / 448 / 1024) * 1.0001)
                  .all()
                  .item<bool>());
  EXPECT_TRUE((off(kE5m2) <= torch::clamp_min(numbers.abs() / 8, largest / 57344 / 131072) * 1.0001)
                  .all()
                  .item<bool>());
  const Tensor zeros = torch::zeros({16, 16});
  EXPECT_TRUE(decoded(to_fp8(zeros, kE4m3)).equal(zeros));
  EXPECT_EQ(to_fp8(zeros, kE4m3).scale.item<float>(), 1e-12F / 448);
}

TEST_F(Fp8Linear, StridesChangeNothing) {
  const Tensor whole = torch::randn({16, 4, 32});
  const Tensor view = whole.transpose(0, 1);
  const Fp8Tensor of_view = to_fp8(view, kE4m3);
  const Fp8Tensor of_copy = to_fp8(view.contiguous(), kE4m3);
  EXPECT_TRUE(of_view.codes.is_contiguous());
  EXPECT_TRUE(decoded(of_view).equal(decoded(of_copy)));
}

// The cast does not hide NaN or infinity, and does not spread them to other products.
TEST_F(Fp8Linear, ANanOrAnInfinityMakesEveryNumberOfItsProductNan) {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    const torch::NoGradGuard no_grad;
    Tensor spoiled = x.detach().clone();
    spoiled[0][3][5] = bad;
    EXPECT_TRUE(fp8_linear(spoiled, weight).isnan().all().item<bool>()) << bad;
    EXPECT_TRUE(fp8_linear(x, weight).isfinite().all().item<bool>());
  }
  const Tensor y = fp8_linear(x, weight);
  Tensor dy = torch::ones_like(y);
  dy[0][0][0] = kInfinity;
  y.backward(dy);
  EXPECT_TRUE(x.grad().isnan().all().item<bool>());
  EXPECT_TRUE(weight.grad().isnan().all().item<bool>());
}

TEST_F(Fp8Linear, GradientsAreThoseOfTheDecodedNumbersInFp32) {
  const Tensor dy = torch::randn({2, 16, 32}).to(torch::kBFloat16);
  fp8_linear(x, weight).backward(dy);
  const auto plain = [](const Tensor& numbers, at::ScalarType type) {
    return decoded(to_fp8(numbers.detach(), type));
  };
  const Tensor plain_dy = plain(dy, kE5m2).view({-1, 32});
  const Tensor dx = plain_dy.mm(plain(weight, kE4m3)).view(x.sizes());
  const Tensor dweight = plain_dy.t().mm(plain(x, kE4m3).view({-1, 48}));
  EXPECT_EQ(x.grad().scalar_type(), torch::kFloat32) << "of the input's own type";
  EXPECT_TRUE(torch::allclose(x.grad(), dx, 1.0 / 128, 1e-4));
  EXPECT_TRUE(torch::allclose(weight.grad(), dweight, 1.0 / 128, 1e-4));
}

// Counts the tensors that autograd keeps, by type.
class Saves : public SavedTensors {
 public:
  bool takes(const Tensor& tensor) override {
    ++saves[tensor.scalar_type()];
    if (tensor.scalar_type() == kE4m3) shapes.emplace_back(tensor.sizes().vec());
    return false;
  }
  std::unique_ptr<PackedTensor> pack(const Tensor&) override { return nullptr; }
  std::map<at::ScalarType, int> saves;
  std::vector<std::vector<int64_t>> shapes;
};

TEST_F(Fp8Linear, KeepsTheInputsCodesTransposedItsScaleAndTheWeight) {
  install_saved_tensor_hooks();
  Saves saves;
  const SavingGuard guard(&saves);
  const Tensor y = fp8_linear(x, weight);
  EXPECT_EQ(saves.saves, (std::map<at::ScalarType, int>{{torch::kFloat32, 2}, {kE4m3, 1}}));
  EXPECT_THAT(saves.shapes, testing::ElementsAre(std::vector<int64_t>{48, 32}));
}

// Whole models.

RunSpec fp8_spec() {
  RunSpec spec = tiny_spec();
  spec.precision = Precision::kFp8;
  return spec;
}

TEST_F(Fp8Linear, TheSevenProjectionsOfABlockAreOfItAndNothingElse) {
  for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
    RunSpec spec = fp8_spec();
    spec.attention = attention;
    const SmallStep step(spec);
    Saves saves;
    const SavingGuard guard(&saves);
    const AutocastGuard autocast(spec.precision, torch::kCPU);
    const Tensor logits = step.step->model()->forward(step.data.batch(0).tokens_BS);
    EXPECT_EQ(saves.saves.at(kE4m3), 7 * spec.layers);
  }
}

TEST_F(Fp8Linear, TwentyStepsAreTheSameUnderASeed) {
  RunSpec spec = fp8_spec();
  const auto losses = SmallStep(spec).run_steps(20);
  EXPECT_EQ(SmallStep(spec).run_steps(20), losses);
  spec.precision = Precision::kBf16;
  EXPECT_NE(SmallStep(spec).run_steps(20), losses);
  EXPECT_EQ(SmallStep(spec).parameters().front().scalar_type(), torch::kFloat32);
}

TEST_F(Fp8Linear, GradientsOfAModelAreWithinTheirToleranceOfFp32s) {
  for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
    RunSpec spec = fp8_spec();
    spec.attention = attention;
    spec.profile_type = Mode::kForwardBackward;
    SmallStep low(spec);
    const double loss = low.run();
    spec.precision = Precision::kFp32;
    SmallStep exact(spec);
    EXPECT_NEAR(loss, exact.run(), 0.01 * loss);
    const double off = distance(low.gradients(), exact.gradients());
    std::cout << to_string(attention) << ": gradients off by at most " << off << " of a tensor\n";
    EXPECT_GT(off, 0.01);
    EXPECT_LT(off, 0.3) << "a number of e5m2 is off by up to an eighth, layer after layer";
  }
}

// HEADROOM_LONG: 100 steps, in the nightly tests.
TEST_F(Fp8Linear, OnRealTextTheLossStaysWithinOnePercentOfBf16s) {
  const int64_t steps = std::getenv("HEADROOM_LONG") == nullptr ? 20 : 100;
  const ScratchDirectory scratch;
  RunSpec spec = real_text_spec(scratch);
  spec.precision = Precision::kBf16;
  const auto bf16 = SmallStep(spec).run_steps(steps);
  spec.precision = Precision::kFp8;
  const auto fp8 = SmallStep(spec).run_steps(steps);
  EXPECT_LT(bf16.back(), 0.9 * bf16.front()) << "something is learned";
  double most = 0;
  for (size_t i = 0; i < bf16.size(); ++i) most = std::max(most, std::abs(fp8[i] / bf16[i] - 1));
  std::cout << bf16.size() << " steps: BF16 " << bf16.back() << ", FP8 " << fp8.back()
            << ", at most " << 100 * most << " % apart\n";
  EXPECT_LT(most, 0.01);
}

TEST_F(Fp8Linear, WhatIsComputedAgainOrReleasedIsTheSameToTheBit) {
  const RunSpec spec = fp8_spec();
  SmallStep plain(spec);
  const auto losses = plain.run_steps(4);
  std::vector<RunSpec> same(5, spec);
  same[0].checkpoint = parse_checkpoint("--recompute", "full");
  same[1].checkpoint = parse_checkpoint("--recompute", "every:2");
  same[2].checkpoint = parse_checkpoint("--recompute", "selective");
  same[3].release_gradients = true;
  same[4].activations = parse_activations("int8:min=1GiB");
  for (const RunSpec& other : same) {
    SmallStep step(other);
    EXPECT_EQ(step.run_steps(4), losses) << row_name(other);
    EXPECT_TRUE(bit_equal(step.parameters(), plain.parameters())) << row_name(other);
  }
}

// The codes already have 8 bits; the other tensors are packed, and the forward does not change.
TEST_F(Fp8Linear, ActivationsInEightBitsPackTheRest) {
  RunSpec spec = fp8_spec();
  spec.profile_type = Mode::kForwardBackward;
  SmallStep plain(spec);
  const double loss = plain.run();
  for (const char* form : {"int8:min=0", "fp8:min=0"}) {
    spec.activations = parse_activations(form);
    SmallStep packed(spec);
    EXPECT_EQ(packed.run(), loss) << form;
    const double off = distance(packed.gradients(), plain.gradients());
    EXPECT_GT(off, 0) << form;
    EXPECT_LT(off, spec.activations.form == ActivationForm::kInt8 ? 0.15 : 0.3) << form;
  }
}

TEST_F(Fp8Linear, MicroBatchesHaveScalesOfTheirOwnAndNearlyTheSameGradients) {
  RunSpec spec = fp8_spec();
  spec.profile_type = Mode::kForwardBackward;
  SmallStep whole(spec);
  const double loss = whole.run();
  spec.micro_batches = 2;
  SmallStep parts(spec);
  EXPECT_NEAR(parts.run(), loss, 0.01 * loss);
  EXPECT_LT(distance(parts.gradients(), whole.gradients()), 0.3);
}

TEST_F(Fp8Linear, MemoryIsWhereItWasAfterFiftySteps) {
  SmallStep small(fp8_spec());
  const auto in_use = [] {
    const auto info = mallinfo2();
    return static_cast<int64_t>(info.uordblks + info.hblkhd);
  };
  int64_t before = 0;
  for (int64_t i = 0; i < 60; ++i) {
    if (i == 10) before = in_use();
    small.run(i);
  }
  EXPECT_LT(in_use() - before, 16 * 1024) << "a step saves more than that in one tensor";
}

// A block runs out of memory in the middle; the next step is unaffected.
TEST_F(Fp8Linear, OutOfMemoryInTheMiddleLeavesTheStepUsable) {
  SmallStep plain(fp8_spec());
  SmallStep refused(fp8_spec());
  const BlockRunner run_block = refused.step->run_block;
  refused.step->run_block = [&](int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    TORCH_CHECK_WITH(OutOfMemoryError, index != 1, "no memory left");
    return run_block(index, block, x_BSD);
  };
  EXPECT_THROW(refused.run(), c10::OutOfMemoryError);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(torch::kCPU));
  refused.step->run_block = run_block;
  EXPECT_EQ(refused.run_steps(2), plain.run_steps(2));
}

}  // namespace
}  // namespace headroom
