#include "train/generate/sampler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom {
namespace {

using torch::Tensor;

constexpr int64_t kRows = 20000;
const std::vector<double> kProbabilities = {0.5, 0.25, 0.15, 0.07, 0.03};

// The same distribution in every row.
Tensor logits() {
  return torch::tensor(kProbabilities).log().to(torch::kFloat32).expand({kRows, 5});
}

// The frequency of each token.
std::vector<double> shares(const Sampling& sampling, uint64_t seed = 3) {
  Sampler sampler(sampling, seed, torch::kCPU);
  const Tensor counts = torch::bincount(sampler.next(logits()), {}, 5).to(torch::kFloat64);
  std::vector<double> all;
  for (int64_t i = 0; i < 5; ++i) all.push_back(counts[i].item<double>() / kRows);
  return all;
}

void expect_shares(const std::vector<double>& given, std::vector<double> wanted) {
  double sum = 0;
  for (const double p : wanted) sum += p;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double p = wanted[i] / sum;
    EXPECT_NEAR(given[i], p, 5 * std::sqrt(p * (1 - p) / kRows)) << "token " << i;
  }
}

TEST(Sampler, WithoutATemperatureTheHighestIsTaken) { expect_shares(shares({}), {1, 0, 0, 0, 0}); }

TEST(Sampler, TokensComeAsOftenAsTheirProbabilitySays) {
  expect_shares(shares({.temperature = 1}), kProbabilities);
}

TEST(Sampler, ATemperatureIsAnExponentOfTheProbabilities) {
  std::vector<double> cold;
  for (const double p : kProbabilities) cold.push_back(std::pow(p, 1 / 0.5));
  expect_shares(shares({.temperature = 0.5}), cold);
}

TEST(Sampler, TopKKeepsSoManyOfTheHighest) {
  expect_shares(shares({.temperature = 1, .top_k = 2}), {0.5, 0.25, 0, 0, 0});
  expect_shares(shares({.temperature = 1, .top_k = 50}), kProbabilities);
}

TEST(Sampler, TopPKeepsTheTokenThatReachesIt) {
  expect_shares(shares({.temperature = 1, .top_p = 0.6}), {0.5, 0.25, 0, 0, 0});
  expect_shares(shares({.temperature = 1, .top_p = 0.01}), {1, 0, 0, 0, 0});
}

TEST(Sampler, BothCutsHoldTogether) {
  // Among the four left by top-k, 0.5 / 0.97 and 0.25 / 0.97 reach 0.6.
  expect_shares(shares({.temperature = 1, .top_k = 4, .top_p = 0.6}), {0.5, 0.25, 0, 0, 0});
}

TEST(Sampler, ASeedIsOneSequenceOfTokens) {
  EXPECT_EQ(shares({.temperature = 1}, 5), shares({.temperature = 1}, 5));
  EXPECT_NE(shares({.temperature = 1}, 5), shares({.temperature = 1}, 6));
}

}  // namespace
}  // namespace headroom
