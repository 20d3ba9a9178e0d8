#include "train/ppo/losses/losses.h"

#include <gtest/gtest.h>

#include "tests/train/ppo/baseline.h"
#include "tests/train/ppo/close.h"
#include "train/ppo/losses/advantages.h"
#include "train/ppo/losses/token_log_probs.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr LossAggregation kModes[] = {LossAggregation::kTokenMean, LossAggregation::kSequenceMean,
                                      LossAggregation::kSequenceSumNormed};

class LossesBaseline : public AgainstBaseline {
 protected:
  // From hidden states and head, by token_log_probs; for every position.
  TokenLogProbs now() {
    const auto flat = [](const Tensor& of_tokens) { return of_tokens.flatten(0, 1); };
    return token_log_probs(flat(hidden_BRD), head_VD, flat(of.at("tokens").to(torch::kInt64)),
                           {.temperature = kTemperature, .chunk_tokens = 10});
  }
  Tensor weights(LossAggregation mode) const {
    return token_weights(mode, mask_BR, kLongestAllowed).flatten();
  }
  Tensor expected(const std::string& name, LossAggregation mode,
                  const std::string& suffix = "") const {
    return of.at(name + "." + word_of(mode) + suffix);
  }
  // Checks a loss computed from now().
  void expect_loss(const Tensor& loss, const std::string& name, LossAggregation mode) {
    SCOPED_TRACE(name + " " + word_of(mode));
    hidden_BRD.mutable_grad() = Tensor();
    head_VD.mutable_grad() = Tensor();
    loss.backward({}, /*retain_graph=*/true);
    EXPECT_LE(error_of(loss.view({1}), expected(name, mode)), kTolerance);
    EXPECT_LE(error_of(hidden_BRD.grad(), expected(name, mode, ".d_hidden")), kTolerance);
    EXPECT_LE(error_of(head_VD.grad(), expected(name, mode, ".d_head")), kTolerance);
  }
  // One advantage per token: values after the last token must not matter.
  Tensor flat(const std::string& name) const {
    return outside_as(of.at(name), mask_BR, 1e6).flatten();
  }

  const Tensor mask_BR = mask_of(of);
  const Tensor hidden_BRD = of.at("hidden").clone().requires_grad_(true);
  const Tensor head_VD = of.at("head").clone().requires_grad_(true);
};

TEST_P(LossesBaseline, LogProbabilitiesAndEntropyAreThoseOfTheFormulas) {
  const TokenLogProbs made = now();
  const auto inside = [&](const Tensor& of_tokens) {
    return outside_as(of_tokens.view(mask_BR.sizes()), mask_BR, 0);
  };
  EXPECT_LE(error_of(inside(made.log_probs_T), of.at("log_probs")), kTolerance);
  EXPECT_LE(error_of(inside(made.entropy_T), of.at("entropy")), kTolerance);
}

TEST_P(LossesBaseline, EveryTermOfPpoAndItsGradientsAreThoseOfTheFormulas) {
  for (const LossAggregation mode : kModes) {
    const TokenLogProbs made = now();
    const Tensor weights_T = weights(mode);
    const PolicyLoss policy = clipped_policy_loss(made.log_probs_T, flat("old_log_probs"),
                                                  flat("whitened.k3"), weights_T, kClip);
    const Tensor entropy = entropy_loss(made.entropy_T, weights_T);
    expect_loss(policy.loss, "policy", mode);
    expect_loss(entropy, "entropy_loss", mode);
    expect_loss(policy.loss + kEntropyCoef * entropy, "ppo", mode);
    EXPECT_LE(error_of(policy.clip_fraction.view({1}), expected("clip_fraction", mode)),
              kTolerance);
    EXPECT_LE(error_of(policy.approx_kl.view({1}), expected("approx_kl", mode)), kTolerance);
    EXPECT_GT(policy.clip_fraction.item<double>(), 0.05) << "the baseline clips something";
  }
}

TEST_P(LossesBaseline, TheCriticsLossAndItsGradientAreThoseOfTheFormula) {
  for (const LossAggregation mode : kModes) {
    SCOPED_TRACE(word_of(mode));
    const Tensor values_BR = of.at("new_values").clone().requires_grad_(true);
    const ValueLoss made = clipped_value_loss(values_BR.flatten(), flat("old_values"),
                                              flat("returns.k3"), weights(mode), kValueClip);
    made.loss.backward();
    EXPECT_LE(error_of(made.loss.view({1}), expected("value", mode)), kTolerance);
    EXPECT_LE(error_of(values_BR.grad(), expected("value", mode, ".d_values")), kTolerance);
    EXPECT_LE(error_of(made.clip_fraction.view({1}), expected("value_clip_fraction", mode)),
              kTolerance);
  }
}

TEST_P(LossesBaseline, GrposLossWithItsKlTermAndItsGradientsAreThoseOfTheFormula) {
  const Tensor advantages_T = group_advantages(of.at("scores"), kGroup, /*by_std=*/true)
                                  .unsqueeze(-1)
                                  .expand_as(mask_BR)
                                  .flatten();
  for (const LossAggregation mode : kModes) {
    const TokenLogProbs made = now();
    const Tensor weights_T = weights(mode);
    const PolicyLoss policy = clipped_policy_loss(made.log_probs_T, flat("old_log_probs"),
                                                  advantages_T, weights_T, kClip);
    const Tensor kl = kl_loss(made.log_probs_T, flat("reference_log_probs"), weights_T, kKlCoef);
    expect_loss(policy.loss + kl, "grpo", mode);
  }
}

TEST_P(LossesBaseline, TheSharesOfAnyTwoPartsOfAMinibatchAddUpToItsLoss) {
  for (const LossAggregation mode : kModes) {
    SCOPED_TRACE(word_of(mode));
    const Tensor log_probs_T = now().log_probs_T.detach();
    const auto loss_of = [&](const Tensor& chosen) {
      return clipped_policy_loss(log_probs_T.index({chosen}), flat("old_log_probs").index({chosen}),
                                 flat("whitened.k3").index({chosen}), weights(mode).index({chosen}),
                                 kClip)
          .loss.item<double>();
    };
    torch::manual_seed(3);
    const Tensor some = torch::rand({mask_BR.numel()}) > 0.4;
    const double whole = loss_of(torch::ones_like(some));
    EXPECT_NEAR(loss_of(some) + loss_of(~some), whole, 1e-5 * std::abs(whole));
  }
}

TEST(ClippedPolicyLoss, AtTheRatioOneItsGradientIsThatOfThePolicyGradient) {
  const Tensor log_probs = torch::tensor({-1.0F, -2.0F}).requires_grad_(true);
  const Tensor advantages = torch::tensor({3.0F, -0.5F});
  const Tensor weights = torch::tensor({0.5F, 0.5F});
  const PolicyLoss made =
      clipped_policy_loss(log_probs, log_probs.detach(), advantages, weights, 0.2);
  made.loss.backward();
  EXPECT_TRUE(torch::equal(log_probs.grad(), -advantages * weights));
  EXPECT_EQ(made.clip_fraction.item<double>(), 0);
  EXPECT_EQ(made.approx_kl.item<double>(), 0);
}

TEST(ClippedPolicyLoss, BeyondTheClipNothingPullsFurtherAndEverythingPullsBack) {
  const Tensor old = torch::zeros({4});
  // Ratios of 1.5, 1.5, 0.5, 0.5, with advantages of both signs.
  const Tensor now = torch::tensor({1.5F, 1.5F, 0.5F, 0.5F}).log().requires_grad_(true);
  const Tensor advantages = torch::tensor({1.0F, -1.0F, 1.0F, -1.0F});
  clipped_policy_loss(now, old, advantages, torch::ones({4}), 0.2).loss.backward();
  const Tensor pulls = now.grad() != 0;
  EXPECT_TRUE(torch::equal(pulls, torch::tensor({false, true, true, false})));
}

TEST(ClippedValueLoss, WithoutAClipItIsHalfTheSquare) {
  const ValueLoss made = clipped_value_loss(torch::tensor({3.0F}), torch::tensor({0.0F}),
                                            torch::tensor({1.0F}), torch::tensor({1.0F}), 0);
  EXPECT_EQ(made.loss.item<double>(), 2);
}

INSTANTIATE_TEST_SUITE_P(By, LossesBaseline, testing::Values("ppo", "trl"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace headroom
