#include "train/ppo/losses/advantages.h"

#include <gtest/gtest.h>

#include "tests/train/ppo/baseline.h"
#include "tests/train/ppo/close.h"

namespace headroom {
namespace {

using torch::Tensor;

class AdvantagesBaseline : public AgainstBaseline {
 protected:
  Tensor made(KlEstimator estimator) const {
    return kl_estimate(estimator, of.at("old_log_probs"), of.at("reference_log_probs"));
  }
  Tensor rewards(KlEstimator estimator) const {
    return token_rewards(of.at("scores"), made(estimator), kKlCoef, mask_BR);
  }

  const Tensor mask_BR = mask_of(of);
};

TEST_P(AdvantagesBaseline, KlRewardsAdvantagesAndReturnsOfRaggedResponsesAreThoseOfTheFormulas) {
  for (const KlEstimator estimator : {KlEstimator::kK1, KlEstimator::kK2, KlEstimator::kK3}) {
    const std::string name = word_of(estimator);
    SCOPED_TRACE(name);
    EXPECT_LE(error_of(outside_as(made(estimator), mask_BR, 0), of.at("kl." + name)), kTolerance);
    const Tensor rewards_BR = rewards(estimator);
    EXPECT_LE(error_of(rewards_BR, of.at("rewards." + name)), kTolerance);
    const auto [advantages_BR, returns_BR] = generalized_advantages(
        rewards_BR, outside_as(of.at("old_values"), mask_BR, 1e9), mask_BR, kGamma, kLambda);
    EXPECT_LE(error_of(outside_as(advantages_BR, mask_BR, 0), of.at("advantages." + name)),
              kTolerance);
    EXPECT_LE(error_of(outside_as(returns_BR, mask_BR, 0), of.at("returns." + name)), kTolerance);
    EXPECT_LE(error_of(masked_whiten(advantages_BR, mask_BR), of.at("whitened." + name)),
              kTolerance);
  }
}

TEST_P(AdvantagesBaseline, OfAGroupAreThoseOfTheFormulaWithItsDeviationAndWithout) {
  EXPECT_LE(error_of(group_advantages(of.at("scores"), kGroup, true), of.at("group_advantages")),
            kTolerance);
  EXPECT_LE(
      error_of(group_advantages(of.at("scores"), kGroup, false), of.at("group_advantages.no_std")),
      kTolerance);
}

TEST_P(AdvantagesBaseline, WhatLiesBehindTheLastTokenGoesIntoNothing) {
  const Tensor kl_BR = made(KlEstimator::kK1);
  const Tensor nan = outside_as(kl_BR, mask_BR, NAN);
  EXPECT_TRUE(torch::equal(token_rewards(of.at("scores"), nan, kKlCoef, mask_BR),
                           token_rewards(of.at("scores"), kl_BR, kKlCoef, mask_BR)));
  const Tensor rewards_BR = rewards(KlEstimator::kK1);
  const Tensor values = of.at("old_values");
  const auto clean =
      generalized_advantages(rewards_BR, outside_as(values, mask_BR, 0), mask_BR, kGamma, kLambda);
  const auto dirty =
      generalized_advantages(outside_as(rewards_BR, mask_BR, NAN), outside_as(values, mask_BR, NAN),
                             mask_BR, kGamma, kLambda);
  EXPECT_TRUE(torch::equal(clean.advantages_BR, dirty.advantages_BR));
  EXPECT_TRUE(torch::equal(clean.returns_BR, dirty.returns_BR));
}

TEST(GeneralizedAdvantages, LambdaOneIsTheReturnLessTheValueAndLambdaZeroTheOneStepError) {
  const Tensor rewards = torch::tensor({{1.0F, 2.0F, 4.0F}});
  const Tensor values = torch::tensor({{0.5F, 0.25F, 0.125F}});
  const Tensor mask = torch::ones({1, 3}, torch::kBool);
  const auto all = generalized_advantages(rewards, values, mask, 1, 1);
  EXPECT_TRUE(torch::equal(all.returns_BR, torch::tensor({{7.0F, 6.0F, 4.0F}})));
  const auto one = generalized_advantages(rewards, values, mask, 0.5, 0);
  EXPECT_TRUE(torch::equal(one.advantages_BR, torch::tensor({{0.625F, 1.8125F, 3.875F}})));
}

TEST(TokenRewards, AScoreLandsAtTheLastTokenAndAnEmptyResponseHasNone) {
  const Tensor mask = torch::tensor({{true, true, false}, {false, false, false}});
  const Tensor rewards = token_rewards(torch::tensor({3.0F, 5.0F}), torch::ones({2, 3}), 0.5, mask);
  EXPECT_TRUE(torch::equal(rewards, torch::tensor({{-0.5F, 2.5F, 0.0F}, {0.0F, 0.0F, 0.0F}})));
}

TEST(MaskedWhiten, HasMeanZeroAndVarianceOneAndWithoutTheShiftTheMeanItHad) {
  torch::manual_seed(1);
  const Tensor values = torch::randn({5, 8}) * 3 + 2;
  const Tensor mask = torch::rand({5, 8}) > 0.3;
  const Tensor white = masked_whiten(values, mask).masked_select(mask);
  EXPECT_NEAR(white.mean().item<double>(), 0, 1e-6);
  EXPECT_NEAR(white.std().item<double>(), 1, 1e-6);
  const Tensor kept = masked_whiten(values, mask, /*shift_mean=*/false).masked_select(mask);
  EXPECT_NEAR(kept.mean().item<double>(), values.masked_select(mask).mean().item<double>(), 1e-5);
  EXPECT_THROW(masked_whiten(values, torch::zeros({5, 8}, torch::kBool)), c10::Error);
}

TEST(GroupAdvantages, AGroupOfEqualScoresHasNone) {
  const Tensor made = group_advantages(torch::full({4}, 0.5F), 4, true);
  EXPECT_TRUE(torch::equal(made, torch::zeros({4})));
  EXPECT_THROW(group_advantages(torch::zeros({5}), 2, true), c10::Error);
}

TEST(KlEstimates, OfTokensDrawnFromThePolicyK1AndK3HaveTheDivergenceAsTheirMean) {
  const Tensor policy = torch::tensor({0.5, 0.3, 0.2}, torch::kDouble);
  const Tensor reference = torch::tensor({0.4, 0.4, 0.2}, torch::kDouble);
  const double divergence = (policy * (policy / reference).log()).sum().item<double>();
  for (const KlEstimator estimator : {KlEstimator::kK1, KlEstimator::kK3}) {
    const Tensor of_token = kl_estimate(estimator, policy.log(), reference.log());
    EXPECT_NEAR((policy * of_token).sum().item<double>(), divergence, 1e-12);
  }
  const Tensor k2 = kl_estimate(KlEstimator::kK2, policy.log(), reference.log());
  EXPECT_NEAR((policy * k2).sum().item<double>(), divergence, 2e-3) << "near, not equal";
}

INSTANTIATE_TEST_SUITE_P(By, AdvantagesBaseline, testing::Values("ppo", "trl"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace headroom
