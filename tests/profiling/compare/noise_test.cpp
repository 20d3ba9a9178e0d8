// The verdict on synthetic noise: times with a drift of the machine that both sides share, noise of
// each process, and now and then a process that something else disturbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "profiling/compare/times.h"

namespace headroom {
namespace {

constexpr int kRounds = 7;

struct Noise {
  double drift = 0.03;      // of the machine, from process to process, up to this share
  double process = 0.01;    // standard deviation
  double disturbed = 0.01;  // share of processes that take up to a tenth longer
};

// One call of `headroom compare --run`: B takes `effect` more than A.
class SyntheticRun {
 public:
  SyntheticRun(uint64_t seed, double effect, const Noise& noise)
      : random_(seed), noise_(noise), effect_(effect) {
    for (int round = 0; round < kRounds; ++round) {
      for (const int arm : order_) add(round, arm);
      std::next_permutation(order_.begin(), order_.end());
    }
  }

  TimeVerdict verdict() const { return compare_times(pair())->judged.verdict; }

 private:
  void add(int round, int arm) {
    std::normal_distribution<double> process(0, noise_.process);
    std::uniform_real_distribution<double> uniform(0, 1);
    at_ += noise_.drift * (uniform(random_) - 0.5) / 2;
    double log_ms = std::log(100.0) + at_ + process(random_);
    if (uniform(random_) < noise_.disturbed) log_ms += 0.1 * uniform(random_);
    const bool is_b = arm == 2;
    if (is_b) log_ms += std::log1p(effect_);
    Result result{.round = round, .again = arm == 1};
    result.record.status = Status::kOk;
    result.record.step_ms = {std::exp(log_ms)};
    (is_b ? b_ : a_).push_back(result);
  }

  CellPair pair() const {
    CellPair pair;
    for (const Result& result : a_) pair.a.push_back(&result);
    for (const Result& result : b_) pair.b.push_back(&result);
    return pair;
  }

  std::mt19937_64 random_;
  Noise noise_;
  double effect_;
  double at_ = 0;
  std::array<int, 3> order_ = {0, 1, 2};
  std::vector<Result> a_, b_;
};

struct Count {
  int faster = 0, slower = 0, same = 0;
};

Count count_of(int tries, double effect, const Noise& noise, uint64_t first_seed) {
  Count count;
  for (int i = 0; i < tries; ++i) {
    const TimeVerdict verdict = SyntheticRun(first_seed + i, effect, noise).verdict();
    count.faster += verdict == TimeVerdict::kFaster ? 1 : 0;
    count.slower += verdict == TimeVerdict::kSlower ? 1 : 0;
    count.same += verdict == TimeVerdict::kSame ? 1 : 0;
  }
  return count;
}

TEST(VerdictOnNoise, OfAThousandEqualPairsAtMostTwoPercentAreCalledDifferent) {
  for (const Noise& noise : {Noise{}, Noise{.drift = 0.2}, Noise{.process = 0.05}}) {
    const Count count = count_of(1000, 0, noise, 1);
    const int found = count.faster + count.slower;
    EXPECT_LE(found, 20) << noise.drift << " " << noise.process;
    // Evenly: within two standard deviations of a fair coin.
    EXPECT_LE(std::abs(count.faster - count.slower), 2 * std::sqrt(found)) << noise.process;
  }
}

TEST(VerdictOnNoise, AlsoIfSomethingElseDisturbsEveryFifthProcess) {
  const Count count = count_of(1000, 0, {.process = 0.002, .disturbed = 0.2}, 1);
  EXPECT_LE(count.faster + count.slower, 20);
}

TEST(VerdictOnNoise, AQuietMachineSaysThatEqualProgramsAreTheSame) {
  const Count count = count_of(200, 0, {.drift = 0.01, .process = 0.002, .disturbed = 0}, 5000);
  EXPECT_GE(count.same, 190);
}

TEST(VerdictOnNoise, ThreePercentAreFoundInBothDirections) {
  EXPECT_GE(count_of(200, 0.03, {}, 10'000).slower, 180);
  EXPECT_GE(count_of(200, -0.03, {}, 20'000).faster, 180);
}

TEST(VerdictOnNoise, HalfAPercentIsNeverCalledDifferent) {
  const Count count = count_of(200, 0.005, {.process = 0.001, .disturbed = 0}, 30'000);
  EXPECT_EQ(count.faster + count.slower, 0);
}

}  // namespace
}  // namespace headroom
