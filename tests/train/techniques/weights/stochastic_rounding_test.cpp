#include "train/techniques/stochastic_rounding.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/train/optim/optimizer_cases.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr auto kBf16 = torch::kBFloat16;

at::Generator seeded(uint64_t seed) { return at::detail::createCPUGenerator(seed); }

// At the fraction p between two BF16 numbers, the upper one is drawn with probability p. Over n
// roundings the mean's deviation is gap * sqrt(p (1 - p) / n); five of them are allowed, for both
// signs.
TEST(StochasticRounding, TheMeanOfManyIsTheNumberItself) {
  constexpr int64_t kMany = 200'000;
  at::Generator generator = seeded(1);
  for (const double p : {1.0 / 65536, 0.01, 0.25, 0.5, 0.9, 0.999}) {
    for (const double sign : {1.0, -1.0}) {
      for (const double scale : {1.0, std::pow(2.0, -130), 3.0e30}) {
        const float low = static_cast<float>(torch::full({}, scale).to(kBf16).item<double>());
        const float high = torch::full({}, low)
                               .view(torch::kInt32)
                               .add(1 << 16)
                               .view(torch::kFloat32)
                               .item<float>();
        const float x = static_cast<float>(sign * (low + p * (static_cast<double>(high) - low)));
        const double gap = static_cast<double>(high) - low;
        const Tensor rounded = round_stochastically(torch::full({kMany}, x), generator);
        const Tensor magnitude = rounded.to(torch::kDouble) * sign;
        EXPECT_TRUE((magnitude.eq(low) | magnitude.eq(high)).all().item<bool>()) << x;
        const double exact = std::abs(static_cast<double>(x));
        const double part = (exact - low) / gap;
        const double deviation = gap * std::sqrt(part * (1 - part) / kMany);
        EXPECT_NEAR(magnitude.mean().item<double>(), exact, 5 * deviation + gap * 1e-6) << x;
      }
    }
  }
}

TEST(StochasticRounding, Bf16NumbersInfinitiesAndNanStayWhatTheyAre) {
  at::Generator generator = seeded(2);
  torch::manual_seed(1);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Tensor exact = torch::cat({torch::randn({10'000}).to(kBf16).to(torch::kFloat32),
                             torch::tensor({0.0F, -0.0F, kInfinity, -kInfinity, 3.3895314e38F})});
  EXPECT_TRUE(round_stochastically(exact, generator).to(torch::kFloat32).equal(exact));
  // NaN with any payload: a carry out of 0x7fffffff would make -0.
  const Tensor nan =
      torch::tensor({0x7fffffff, 0x7f800001, 0x7fc00000, -1}, torch::kInt32).view(torch::kFloat32);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(round_stochastically(nan, generator).isnan().all().item<bool>());
  }
}

TEST(StochasticRounding, IsTheSameUnderTheSameSeedAndAnotherUnderAnother) {
  const Tensor x = torch::randn({1000});
  const auto rounded = [&](uint64_t seed) {
    const at::Generator generator = seeded(seed);
    return round_stochastically(x, generator);
  };
  EXPECT_TRUE(rounded(5).equal(rounded(5)));
  EXPECT_FALSE(rounded(5).equal(rounded(6)));
}

class StochasticUpdates : public testing::TestWithParam<OptimizerCase> {
 protected:
  StochasticUpdates() {
    spec_.learning_rate = std::pow(2.0, -12);
    spec_.weight_decay = 0;
  }
  MakeOptimizer make() const { return maker_of(spec_); }

  RunSpec spec_ = spec_of(GetParam());
};

// Updates of a sixteenth of the gap to the next lower BF16 number: rounding to nearest loses all.
TEST_P(StochasticUpdates, AreTheFp32OptimizersOnAverage) {
  constexpr int kSteps = 32;
  const Tensor weight = torch::ones({40'000}, kBf16);
  Tensor fp32 = torch::ones({1});
  const auto exact = make()({fp32}, 0);
  StochasticRounding optimizer({weight}, 7, make());
  for (int i = 0; i < kSteps; ++i) {
    weight.mutable_grad() = torch::ones_like(weight);
    fp32.mutable_grad() = torch::ones_like(fp32);
    optimizer.step();
    exact->step();
  }
  const double moved = 1 - fp32.item<double>();
  ASSERT_GT(moved, 0.005);
  EXPECT_NEAR(1 - weight.to(torch::kDouble).mean().item<double>(), moved, 0.02 * moved);
}

TEST_P(StochasticUpdates, KeepWeightsAndMomentsInBf16WhereTheyAre) {
  // The last is large enough for 8-bit states, and its last block of 256 is not full.
  const std::vector<Tensor> weights = {torch::ones({300}, kBf16), torch::ones({4, 100}, kBf16),
                                       torch::ones({17, 242}, kBf16)};
  StochasticRounding optimizer(weights, 7, make());
  std::vector<const void*> places;
  for (int step = 0; step < 3; ++step) {
    for (const Tensor& weight : weights) weight.mutable_grad() = torch::ones_like(weight);
    optimizer.step();
    std::vector<const void*> now;
    int64_t bytes = 0;
    int64_t scalars = 0;
    for (const Tensor& tensor : optimizer.state()) {
      now.push_back(tensor.const_data_ptr());
      bytes += static_cast<int64_t>(tensor.nbytes());
      scalars += tensor.dim() == 0 ? 4 : 0;
      for (const Tensor& weight : weights) {
        const bool is_fp32 = tensor.scalar_type() == torch::kFloat32;
        EXPECT_FALSE(is_fp32 && tensor.sizes() == weight.sizes());
      }
    }
    // Moments are BF16; states of another shape than the parameter have the optimizer's own type.
    const auto state_of = [&](const ParameterSize& parameter) {
      int64_t of_rows = 0;
      for (const OptimizerState& row : info_of(GetParam().kind).state) {
        const bool small = parameter.elements < k8BitSmallest;
        const bool is_moment = row.form == StateForm::kMoment || row.form == StateForm::kHidden ||
                               row.form == StateForm::kOuter;
        if (row.only) continue;
        of_rows += row.form == StateForm::k8Bit && small
                       ? 2 * parameter.elements
                       : state_bytes(row.form, parameter, is_moment ? 2 : 4);
      }
      return of_rows;
    };
    const int64_t shared = optimizer_shared_bytes(GetParam().kind);
    EXPECT_EQ(bytes, state_of({.elements = 300, .blocks = 1}) +
                         state_of({.elements = 400, .blocks = 4, .hidden = 400}) +
                         state_of({.elements = 17 * 242, .blocks = 17, .hidden = 17 * 242}) +
                         shared + scalars);
    if (step > 0) {
      EXPECT_EQ(now, places);
    }
    places = now;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StochasticUpdates, testing::ValuesIn(every_optimizer()),
                         name_of_case);

}  // namespace
}  // namespace headroom
