// T tokens, D width, V vocabulary.
#include "train/ppo/losses/token_log_probs.h"

#include <gtest/gtest.h>

#include "tests/train/ppo/close.h"
#include "train/techniques/precision.h"

namespace headroom {
namespace {

using torch::Tensor;

struct LogitsCase {
  explicit LogitsCase(torch::Dtype dtype = torch::kFloat32, int64_t tokens = 23) {
    torch::manual_seed(7);
    hidden_TD = torch::randn({tokens, 16}).to(dtype).requires_grad_(true);
    weight_VD = torch::randn({37, 16}).to(dtype).requires_grad_(true);
    tokens_T = torch::randint(37, {tokens});
    log_prob_factors_T = torch::randn({tokens});
    entropy_factors_T = torch::randn({tokens});
  }

  Tensor hidden_TD, weight_VD, tokens_T;
  Tensor log_prob_factors_T, entropy_factors_T;  // for a loss that uses both
};

struct Made {
  Tensor log_probs_T, entropy_T, d_hidden_TD, d_weight_VD;
};

using Form = TokenLogProbs (*)(const Tensor&, const Tensor&, const Tensor&, const LogProbOptions&);

Made run(Form form, const LogitsCase& of, const LogProbOptions& options) {
  of.hidden_TD.mutable_grad() = Tensor();
  of.weight_VD.mutable_grad() = Tensor();
  const TokenLogProbs made = form(of.hidden_TD, of.weight_VD, of.tokens_T, options);
  Tensor loss = (made.log_probs_T * of.log_prob_factors_T).sum();
  if (options.entropy) loss = loss + (made.entropy_T * of.entropy_factors_T).sum();
  loss.backward();
  return {made.log_probs_T, made.entropy_T, of.hidden_TD.grad(), of.weight_VD.grad()};
}

void expect_near(const Made& chunked, const Made& plain, double tolerance) {
  EXPECT_LE(error_of(chunked.log_probs_T, plain.log_probs_T), tolerance);
  EXPECT_LE(error_of(chunked.d_hidden_TD, plain.d_hidden_TD), tolerance);
  EXPECT_LE(error_of(chunked.d_weight_VD, plain.d_weight_VD), tolerance);
  if (plain.entropy_T.defined()) {
    EXPECT_LE(error_of(chunked.entropy_T, plain.entropy_T), tolerance);
  }
}

TEST(TokenLogProbs, InFp32ValuesAndGradientsAreThoseOfThePlainForm) {
  const LogitsCase of;
  for (const int64_t chunk : {1, 5, 23, 512}) {
    for (const double temperature : {1.0, 0.7, 2.0}) {
      for (const bool entropy : {true, false}) {
        SCOPED_TRACE(testing::Message() << chunk << " " << temperature << " " << entropy);
        const LogProbOptions options = {temperature, chunk, entropy};
        expect_near(run(token_log_probs, of, options), run(plain_token_log_probs, of, options),
                    1e-5);
      }
    }
  }
}

TEST(TokenLogProbs, TheGradientIsThatOfFiniteDifferences) {
  LogitsCase of(torch::kFloat64, 5);
  const LogProbOptions options = {.temperature = 0.8, .chunk_tokens = 2};
  const Made made = run(token_log_probs, of, options);
  const torch::NoGradGuard no_grad;
  const auto loss = [&] {
    const TokenLogProbs now = token_log_probs(of.hidden_TD, of.weight_VD, of.tokens_T, options);
    return ((now.log_probs_T * of.log_prob_factors_T).sum() +
            (now.entropy_T * of.entropy_factors_T).sum())
        .item<double>();
  };
  constexpr double kStep = 1e-6;
  for (const auto& [input, gradient] :
       {std::pair(of.hidden_TD, made.d_hidden_TD), std::pair(of.weight_VD, made.d_weight_VD)}) {
    double* const numbers = input.data_ptr<double>();
    for (int64_t i = 0; i < input.numel(); i += 3) {
      const double was = numbers[i];
      numbers[i] = was + kStep;
      const double above = loss();
      numbers[i] = was - kStep;
      const double below = loss();
      numbers[i] = was;
      EXPECT_NEAR(gradient.view(-1)[i].item<double>(), (above - below) / (2 * kStep), 1e-7);
    }
  }
}

TEST(TokenLogProbs, OfBf16WeightsTheyAreThePlainFormsWithinBf16sRounding) {
  const LogitsCase of(torch::kBFloat16);
  const LogProbOptions options = {.chunk_tokens = 8};
  const Made chunked = run(token_log_probs, of, options);
  EXPECT_EQ(chunked.log_probs_T.scalar_type(), torch::kFloat32);
  EXPECT_EQ(chunked.d_weight_VD.scalar_type(), torch::kBFloat16);
  // The forward has the same products, so the same numbers.
  const Made plain = run(plain_token_log_probs, of, options);
  EXPECT_LE(error_of(chunked.log_probs_T, plain.log_probs_T), 1e-5);
  EXPECT_LE(error_of(chunked.entropy_T, plain.entropy_T), 1e-5);
  expect_near(chunked, plain, 1.0 / 64);
}

TEST(TokenLogProbs, UnderAutocastTheyAreThePlainFormsAndTheGradientOfTheHeadAddsUpInFp32) {
  const LogitsCase of;
  const LogProbOptions options = {.chunk_tokens = 8};
  const auto under_autocast = [&](Form form) {
    of.hidden_TD.mutable_grad() = Tensor();
    of.weight_VD.mutable_grad() = Tensor();
    TokenLogProbs made;
    {
      const AutocastGuard autocast(Precision::kBf16, torch::kCPU);
      made = form(of.hidden_TD, of.weight_VD, of.tokens_T, options);
    }
    ((made.log_probs_T * of.log_prob_factors_T).sum() +
     (made.entropy_T * of.entropy_factors_T).sum())
        .backward();
    return Made{made.log_probs_T, made.entropy_T, of.hidden_TD.grad(), of.weight_VD.grad()};
  };
  const Made chunked = under_autocast(token_log_probs);
  const Made plain = under_autocast(plain_token_log_probs);
  EXPECT_EQ(chunked.log_probs_T.scalar_type(), torch::kFloat32);
  EXPECT_EQ(chunked.d_weight_VD.scalar_type(), torch::kFloat32);
  EXPECT_LE(error_of(chunked.log_probs_T, plain.log_probs_T), 1e-5);
  EXPECT_LE(error_of(chunked.entropy_T, plain.entropy_T), 1e-5);
  expect_near(chunked, plain, 1.0 / 64);
  // The result equals FP32's within BF16's rounding.
  expect_near(chunked, run(plain_token_log_probs, of, options), 1.0 / 16);
}

TEST(TokenLogProbs, ProbabilitiesOfAllTokensAddUpToOneAndAUniformPolicyHasTheMostEntropy) {
  const torch::NoGradGuard no_grad;
  const LogitsCase of;
  const Tensor one_TD = of.hidden_TD.narrow(0, 0, 1).expand({37, 16});
  const TokenLogProbs all = token_log_probs(one_TD, of.weight_VD, torch::arange(37));
  EXPECT_NEAR(all.log_probs_T.exp().sum().item<double>(), 1, 1e-5);
  const TokenLogProbs uniform =
      token_log_probs(torch::zeros({4, 16}), of.weight_VD, torch::arange(4));
  EXPECT_LE(error_of(uniform.entropy_T, torch::full({4}, std::log(37.0))), 1e-6);
  EXPECT_LE(error_of(uniform.log_probs_T, torch::full({4}, -std::log(37.0))), 1e-6);
}

TEST(TokenLogProbs, ALogitOfAThousandIsNoOverflow) {
  const Tensor weight = torch::tensor({{1000.0F}, {-1000.0F}, {999.0F}}).requires_grad_(true);
  const Tensor hidden = torch::ones({2, 1}).requires_grad_(true);
  const TokenLogProbs made = token_log_probs(hidden, weight, torch::tensor({0, 1}));
  (made.log_probs_T.sum() + made.entropy_T.sum()).backward();
  EXPECT_TRUE(torch::isfinite(made.log_probs_T).all().item<bool>());
  EXPECT_TRUE(torch::isfinite(weight.grad()).all().item<bool>());
  EXPECT_NEAR(made.log_probs_T[0].item<double>(), -std::log(1 + std::exp(-1.0)), 1e-4);
}

TEST(TokenLogProbs, WhatDoesNotFitIsRefused) {
  const LogitsCase of;
  EXPECT_THROW(token_log_probs(of.hidden_TD, of.weight_VD.narrow(1, 0, 8), of.tokens_T),
               c10::Error);
  EXPECT_THROW(token_log_probs(of.hidden_TD, of.weight_VD, of.tokens_T.narrow(0, 0, 3)),
               c10::Error);
  EXPECT_THROW(token_log_probs(of.hidden_TD, of.weight_VD, of.tokens_T, {.temperature = 0}),
               c10::Error);
  EXPECT_THROW(token_log_probs(of.hidden_TD, of.weight_VD, of.tokens_T, {.chunk_tokens = 0}),
               c10::Error);
}

}  // namespace
}  // namespace headroom
