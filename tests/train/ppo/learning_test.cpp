// The program learns on the CPU: with the reward "the share of tokens that are 5" a tiny model's
// mean reward rises from chance to 0.9, and the KL divergence to the reference stays bounded.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/train/ppo/tiny_roles.h"

namespace headroom {
namespace {

constexpr double kVocabulary = 24;

struct Learnt {
  std::vector<double> scores;
  double largest_kl = 0;
  int64_t first_above = -1;  // iteration whose mean score is 0.9
};

Learnt learn(const PpoSpec& spec, int64_t iterations) {
  Roles roles = tiny_roles(spec);
  const ModelConfig config = model_config(tiny_role());
  const Generate generate = generate_with_cache(
      {.layers = config.layers, .kv_heads = config.kv_heads, .head_dim = config.head_dim()});
  Learnt learnt;
  for (int64_t i = 0; i < iterations; ++i) {
    const IterationReport report =
        run_iteration(spec, roles, tiny_prompts(spec.prompts, i), i, generate);
    learnt.scores.push_back(report.score);
    learnt.largest_kl = std::max(learnt.largest_kl, report.kl);
    if (report.score >= 0.9 && learnt.first_above < 0) learnt.first_above = i;
    if (i % 10 == 0 || i + 1 == iterations) {
      std::printf("%3ld: score %.3f, KL %.3f, entropy %.3f, clipped %.3f, value loss %.4f\n",
                  static_cast<long>(i), report.score, report.kl, report.actor.entropy,
                  report.actor.clip_fraction, report.critic.loss);
    }
  }
  return learnt;
}

void expect_learnt(const Learnt& learnt) {
  EXPECT_NEAR(learnt.scores.front(), 1 / kVocabulary, 0.06) << "begins at chance";
  EXPECT_GE(learnt.first_above, 0);
  EXPECT_GE(learnt.scores.back(), 0.9);
  // The KL divergence of a policy with only one token is -log(its probability under the reference):
  // for a uniform reference log(kVocabulary).
  EXPECT_LE(learnt.largest_kl, std::log(kVocabulary));
}

TEST(PpoLearns, ToSayOneTokenWithin100Iterations) {
  expect_learnt(learn({.prompts = 32, .kl_coef = 0.01}, 100));
}

TEST(PpoLearns, LessOfItAndStaysNearerToTheReferenceWhereThePenaltyIsHigher) {
  const Learnt near = learn({.prompts = 32, .kl_coef = 0.2}, 25);
  const Learnt far = learn({.prompts = 32, .kl_coef = 0.01}, 25);
  EXPECT_LT(near.largest_kl, 0.6 * far.largest_kl);
  EXPECT_LT(near.scores.back(), far.scores.back());
}

TEST(GrpoLearns, ToSayOneTokenWithin40Iterations) {
  expect_learnt(learn({.algorithm = PpoAlgorithm::kGrpo, .prompts = 8, .group_size = 4}, 40));
}

}  // namespace
}  // namespace headroom
