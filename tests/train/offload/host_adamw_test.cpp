#include "train/offload/states/host_adamw.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "train/offload/states/adamw_range.h"
#include "train/optim/adamw.h"

namespace headroom {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// The states of one parameter and its data on the host link, in FP32 or BF16.
struct Parameter {
  Parameter(int64_t elements, HostNumber type, unsigned seed = 1)
      : type(type), master(elements), m(elements), v(elements), gradient(elements) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float& x : master) x = normal(random);
    // Gradients over many orders of magnitude, as in BF16.
    for (float& x : gradient) x = narrow(normal(random) * std::pow(10.F, normal(random)));
    wire.resize(gradient.size() * (type == HostNumber::kFp32 ? 2 : 1));
    fill_wire();
  }

  // `x` truncated to BF16.
  static float narrow(float x) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xffff0000);
  }

  void fill_wire() {
    for (size_t i = 0; i < gradient.size(); ++i) {
      const auto bits = std::bit_cast<uint32_t>(gradient[i]);
      if (type == HostNumber::kFp32) {
        std::memcpy(&wire[2 * i], &bits, sizeof bits);
      } else {
        wire[i] = static_cast<uint16_t>(bits >> 16);
      }
    }
  }

  // The gradient and the weight share `wire`.
  HostAdamwPart part() {
    return {.master = master.data(),
            .m = m.data(),
            .v = v.data(),
            .gradient = wire.data(),
            .weight = wire.data(),
            .type = type,
            .elements = static_cast<int64_t>(master.size())};
  }

  float weight(size_t i) const {
    if (type == HostNumber::kBf16) {
      return std::bit_cast<float>(static_cast<uint32_t>(wire[i]) << 16);
    }
    float x;
    std::memcpy(&x, &wire[2 * i], sizeof x);
    return x;
  }

  bool same_bits(const Parameter& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
    };
    return same(master, other.master) && same(m, other.m) && same(v, other.v) &&
           same(wire, other.wire);
  }

  HostNumber type;
  std::vector<float> master, m, v, gradient;
  std::vector<uint16_t> wire;
};

constexpr HostNumber kTypes[] = {HostNumber::kFp32, HostNumber::kBf16};
constexpr HostAdamwOptions kOptions{.learning_rate = 1e-2, .eps = 1e-4, .weight_decay = 0.1};

class Threads {
 public:
  explicit Threads(int threads) : before_(at::get_num_threads()) { at::set_num_threads(threads); }
  ~Threads() { at::set_num_threads(before_); }

 private:
  int before_;
};

// Lengths around every vector's and a thread's chunk; from the first step on, where m and v are
// uninitialized.
TEST(HostAdamw, IsTheFormulaOfItsHeaderForEveryLengthWhateverTheMomentsHeldBeforeTheFirstStep) {
  for (const HostNumber type : kTypes) {
    for (const int64_t elements : {0, 1, 3, 15, 16, 17, 63, 65, 1000, 65535, 65537, 200003}) {
      Parameter parameter(elements, type);
      const std::vector<float> start = parameter.master;
      std::fill(parameter.m.begin(), parameter.m.end(), kNan);
      std::fill(parameter.v.begin(), parameter.v.end(), kInfinity);
      std::vector<double> p(start.begin(), start.end());
      std::vector<double> m(p.size()), v(p.size());
      for (int t = 1; t <= 3; ++t) {
        parameter.fill_wire();
        host_adamw(parameter.part(), kOptions, t);
        const double rate = kOptions.learning_rate * std::sqrt(1 - std::pow(kOptions.beta2, t)) /
                            (1 - std::pow(kOptions.beta1, t));
        for (size_t i = 0; i < p.size(); ++i) {
          const double g = parameter.gradient[i];
          p[i] -= kOptions.learning_rate * kOptions.weight_decay * p[i];
          m[i] = kOptions.beta1 * m[i] + (1 - kOptions.beta1) * g;
          v[i] = kOptions.beta2 * v[i] + (1 - kOptions.beta2) * g * g;
          p[i] -= rate * m[i] / (std::sqrt(v[i]) + kOptions.eps);
          ASSERT_NEAR(parameter.master[i], p[i], 1e-6 * (1 + std::abs(p[i]))) << i << " at " << t;
          ASSERT_NEAR(parameter.m[i], m[i], 1e-6 * std::abs(m[i]) + 1e-20) << i << " at " << t;
          ASSERT_NEAR(parameter.v[i], v[i], 1e-6 * std::abs(v[i]) + 1e-30) << i << " at " << t;
          const double step_of_type = type == HostNumber::kFp32 ? 0 : std::pow(2, -8);
          ASSERT_LE(std::abs(parameter.weight(i) - parameter.master[i]),
                    step_of_type * std::abs(parameter.master[i]));
        }
      }
    }
  }
}

TEST(HostAdamw, TwentyStepsAreThoseOfTheFusedKernelOnTheMasterWeights) {
  for (const HostNumber type : kTypes) {
    Parameter parameter(1003, type);
    std::vector<torch::Tensor> weights = {torch::tensor(parameter.master)};
    Adamw adamw(weights, OptimizerImpl::kFused,
                {.learning_rate = 1e-2, .eps = 1e-4, .weight_decay = 0.1});
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (int t = 1; t <= 20; ++t) {
      for (float& x : parameter.gradient) x = Parameter::narrow(normal(random));
      weights[0].mutable_grad() = torch::tensor(parameter.gradient);
      adamw.step();
      parameter.fill_wire();
      host_adamw(parameter.part(), kOptions, t);
      const torch::Tensor ours = torch::tensor(parameter.master);
      ASSERT_LE((ours - weights[0]).abs().max().item<double>(), 2e-6) << "step " << t;
      if (type == HostNumber::kFp32) continue;
      const torch::Tensor rounded = ours.to(torch::kBFloat16).to(torch::kFloat32);
      for (int64_t i = 0; i < ours.numel(); ++i) {
        ASSERT_EQ(parameter.weight(static_cast<size_t>(i)), rounded[i].item<float>()) << i;
      }
    }
  }
}

TEST(HostAdamw, TheWeightMayHaveABufferOfItsOwnAndTheGradientIsThenLeftAsItIs) {
  for (const HostNumber type : kTypes) {
    Parameter shared(4099, type);
    Parameter apart = shared;
    const std::vector<uint16_t> gradient = apart.wire;
    std::vector<uint16_t> weight(gradient.size());
    host_adamw(shared.part(), kOptions, 1);
    HostAdamwPart part = apart.part();
    part.weight = weight.data();
    host_adamw(part, kOptions, 1);
    EXPECT_EQ(apart.wire, gradient);
    apart.wire = weight;
    EXPECT_TRUE(apart.same_bits(shared));
  }
}

TEST(HostAdamw, TheThreadsAreThoseOfLibtorch) {
  for (const int threads : {1, 3}) {
    const Threads set(threads);
    EXPECT_EQ(omp_get_max_threads(), threads);  // as read by host_adamw
  }
}

TEST(HostAdamw, EveryNumberOfThreadsGivesTheSameBits) {
  for (const HostNumber type : kTypes) {
    std::optional<Parameter> with_one;
    for (const int threads : {1, 2, 3}) {
      const Threads set(threads);
      Parameter parameter(300'003, type);
      for (int t = 1; t <= 3; ++t) {
        parameter.fill_wire();
        host_adamw(parameter.part(), kOptions, t);
      }
      if (!with_one) with_one = parameter;
      EXPECT_TRUE(parameter.same_bits(*with_one)) << threads << " threads";
    }
  }
}

TEST(HostAdamw, GradientsThatAreScaledAreThoseThatCameTimesTheScale) {
  HostAdamwOptions scaling = kOptions;
  scaling.gradient_scale = 0.3;
  Parameter scaled(4099, HostNumber::kFp32);
  Parameter plain = scaled;
  for (float& x : plain.gradient) x *= 0.3F;
  for (int t = 1; t <= 3; ++t) {
    scaled.fill_wire();
    plain.fill_wire();
    host_adamw(scaled.part(), scaling, t);
    host_adamw(plain.part(), kOptions, t);
  }
  EXPECT_TRUE(scaled.same_bits(plain));
}

TEST(HostAdamw, TheSumOfSquaresIsThatOfFp64WithEveryNumberOfThreads) {
  for (const HostNumber type : kTypes) {
    for (const int64_t elements : {0, 1, 17, 65537, 300'003}) {
      const Parameter parameter(elements, type);
      double expected = 0;
      for (const double g : parameter.gradient) expected += g * g;
      std::optional<double> with_one;
      for (const int threads : {1, 2, 3}) {
        const Threads set(threads);
        const double sum = sum_of_squares(parameter.wire.data(), type, elements);
        EXPECT_NEAR(sum, expected, 1e-12 * expected);
        if (!with_one) with_one = sum;
        EXPECT_EQ(sum, *with_one) << threads << " threads";
      }
    }
  }
}

TEST(HostAdamw, EveryKindOfProcessorGivesTheSameBits) {
  for (const HostNumber type : kTypes) {
    std::optional<Parameter> baseline;
    for (const HostVectors vectors : kHostVectors) {
      if (!processor_has(vectors)) continue;
      Parameter parameter(100'003, type);
      parameter.master[17] = kInfinity;
      parameter.gradient[40'000] = -kInfinity;
      for (int t = 1; t <= 5; ++t) {
        parameter.fill_wire();
        update_range(vectors, parameter.part(), adamw_factors(kOptions, t), t == 1, 0, 100'003);
      }
      // The bits of a NaN are free in FP32.
      for (float& x : parameter.master) x = std::isnan(x) ? kNan : x;
      if (type == HostNumber::kFp32) std::memcpy(&parameter.wire[80'000], &kNan, sizeof kNan);
      if (!baseline) baseline = parameter;
      EXPECT_TRUE(parameter.same_bits(*baseline)) << static_cast<int>(vectors);
    }
  }
}

// A BF16 weight is the nearest to the master, of two equally near the even one, and infinity beyond
// the largest; a NaN stays NaN, even if only low bits are set.
TEST(HostAdamw, WeightsAreRoundedToTheNearestAndTiesToEvenInEveryVector) {
  const uint32_t masters[] = {0x3f800000, 0x3f808000, 0x3f808001, 0x3f818000, 0x3f817fff,
                              0xbf808000, 0xbf818000, 0x7f7f7fff, 0x7f7f8000, 0xff7fffff,
                              0x7f800000, 0xff800000, 0x7f800001, 0xffffffff, 0x00000000,
                              0x80000000, 0x00008000, 0x00018000};
  const uint16_t weights[] = {0x3f80, 0x3f80, 0x3f81, 0x3f82, 0x3f81, 0xbf80,
                              0xbf82, 0x7f7f, 0x7f80, 0xff80, 0x7f80, 0xff80,
                              0x7fc0, 0x7fc0, 0x0000, 0x8000, 0x0000, 0x0002};
  constexpr size_t kCases = std::size(weights);
  static_assert(std::size(masters) == kCases);
  for (const HostVectors vectors : kHostVectors) {
    if (!processor_has(vectors)) continue;
    Parameter parameter(64 * kCases + 5, HostNumber::kBf16);
    for (size_t i = 0; i < parameter.master.size(); ++i) {
      parameter.master[i] = std::bit_cast<float>(masters[i % kCases]);
      parameter.wire[i] = 0;
    }
    // A gradient of zeros and no decay: the master does not change.
    const AdamwFactors factors = adamw_factors({.weight_decay = 0}, 1);
    update_range(vectors, parameter.part(), factors, true, 0, parameter.part().elements);
    for (size_t i = 0; i < parameter.master.size(); ++i) {
      ASSERT_EQ(parameter.wire[i], weights[i % kCases]) << i << ", " << static_cast<int>(vectors);
    }
  }
}

TEST(HostAdamw, ANanOrAnInfinityReachesItsOwnNumberAndNoOther) {
  for (const HostNumber type : kTypes) {
    Parameter parameter(100, type);
    parameter.gradient[3] = kNan;
    parameter.gradient[50] = kInfinity;
    parameter.master[99] = kInfinity;
    parameter.fill_wire();
    host_adamw(parameter.part(), kOptions, 1);
    for (size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(std::isnan(parameter.weight(i)), i == 3 || i == 50) << i;
      EXPECT_EQ(std::isnan(parameter.master[i]), i == 3 || i == 50) << i;
      EXPECT_EQ(std::isinf(parameter.weight(i)), i == 99) << i;
    }
    EXPECT_TRUE(std::isnan(parameter.m[3]) && std::isnan(parameter.v[3]));
    EXPECT_TRUE(std::isinf(parameter.m[50]) && std::isinf(parameter.v[50]));
  }
}

}  // namespace
}  // namespace headroom
