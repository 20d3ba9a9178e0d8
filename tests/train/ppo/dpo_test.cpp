#include "train/ppo/dpo.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/ppo/close.h"
#include "tests/train/ppo/tiny_roles.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using torch::Tensor;

// Ragged pairs: of each, the chosen response is of token 5, the rejected one of others.
Experience some_pairs(int64_t pairs) {
  torch::manual_seed(3);
  Tensor tokens_BS = torch::randint(24, {2 * pairs, 12}, torch::kInt64);
  Indices prompts, responses;
  for (int64_t i = 0; i < 2 * pairs; ++i) {
    prompts.push_back(2 + (i / 2) % 3);
    responses.push_back(3 + (i * 7) % 5);
    tokens_BS[i]
        .narrow(0, 0, prompts.back())
        .copy_(tokens_BS[i - i % 2].narrow(0, 0, prompts.back()));
    if (i % 2 == 0) tokens_BS[i].narrow(0, prompts.back(), responses.back()).fill_(5);
  }
  return make_experience(tokens_BS, prompts, responses);
}

TEST(Dpo, BeginsAtLogTwoAndLearnsToPreferWhatWasChosen) {
  Roles roles = tiny_roles({});
  const Experience pairs = some_pairs(12);
  const DpoReport first = train_dpo(pairs, *roles.actor, *roles.reference, {}, 0);
  EXPECT_NEAR(first.loss, std::log(2.0), 1e-6) << "policy and reference are one";
  EXPECT_EQ(first.margin, 0);
  const DpoReport more =
      train_dpo(pairs, *roles.actor, *roles.reference, {.epochs = 20, .minibatches = 2}, 0);
  EXPECT_EQ(more.updates, 40);
  const DpoReport last = train_dpo(pairs, *roles.actor, *roles.reference, {}, 0);
  EXPECT_LT(last.loss, 0.2);
  EXPECT_EQ(last.accuracy, 1);
  EXPECT_GT(last.margin, 1);
}

std::map<std::string, Tensor> weights_after(const DpoSpec& spec) {
  RunSpec run = tiny_role();
  run.optimizer = OptimizerKind::kSgd;
  run.optimizer_impl = OptimizerImpl::kReference;
  run.learning_rate = 0.05;
  Roles roles = tiny_roles({}, run);
  train_dpo(some_pairs(7), *roles.actor, *roles.reference, spec, 1);
  std::map<std::string, Tensor> weights;
  for (const auto& item : roles.actor->weights()) weights[item.key()] = item.value();
  return weights;
}

TEST(Dpo, PackedPairsTrainAsOneMinibatchDoes) {
  const auto whole = weights_after({.epochs = 2, .minibatches = 2});
  const auto packed =
      weights_after({.epochs = 2, .minibatches = 2, .max_tokens_per_micro_batch = 25});
  for (const auto& [name, weight] : whole) EXPECT_LE(error_of(packed.at(name), weight), 1e-4);
}

TEST(Dpo, APairThatIsLongerThanTheBudgetIsRefused) {
  EXPECT_THROW(weights_after({.max_tokens_per_micro_batch = 8}), UsageError);
}

}  // namespace
}  // namespace headroom
