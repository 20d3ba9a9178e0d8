#include "train/ppo/iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/ppo/close.h"
#include "tests/train/ppo/tiny_roles.h"
#include "tests/train/support/heard.h"
#include "text/quantity.h"
#include "train/hooks/listening.h"
#include "train/ppo/phases/scoring.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using torch::Tensor;

PpoSpec small_ppo() {
  return {.prompts = 6,
          .response_length = 7,
          .temperature = 0.9,
          .end_token = 3,
          .epochs = 2,
          .minibatches = 2};
}

Experience some_experience(Roles& roles, const PpoSpec& spec) {
  return generate_by_full_forward(
      *roles.actor, repeated(tiny_prompts(spec.prompts, 0), spec.group_size), spec, 1);
}

TEST(Rollout, ResponsesAreRaggedEndAtTheEndTokenAndFollowTheirPrompts) {
  PpoSpec spec = small_ppo();
  spec.prompts = 24;
  Roles roles = tiny_roles(spec);
  const Prompts prompts = tiny_prompts(spec.prompts, 0);
  const Experience made = some_experience(roles, spec);
  int64_t ended = 0;
  for (int64_t i = 0; i < made.sequences(); ++i) {
    const int64_t prompt = made.prompt_lengths[static_cast<size_t>(i)];
    const int64_t response = made.response_lengths[static_cast<size_t>(i)];
    EXPECT_EQ(prompt, 2 + i % 3);
    EXPECT_TRUE(torch::equal(made.tokens_BS[i].narrow(0, 0, prompt),
                             prompts.tokens_BP[i].narrow(0, 0, prompt)));
    const Tensor of_response = made.tokens_BS[i].narrow(0, prompt, response);
    const int64_t end_tokens = (of_response == spec.end_token).sum().item<int64_t>();
    if (response < spec.response_length) {
      EXPECT_EQ(of_response[-1].item<int64_t>(), spec.end_token);
    }
    EXPECT_EQ(end_tokens, of_response[-1].item<int64_t>() == spec.end_token ? 1 : 0);
    ended += end_tokens;
    EXPECT_EQ(made.mask_BR[i].sum().item<int64_t>(), response);
    EXPECT_EQ(made.tokens_BS[i].narrow(0, prompt + response, 0).sum().item<int64_t>(), 0);
  }
  EXPECT_GT(ended, 0) << "of 24 responses some end early";
}

TEST(Rollout, ASeedIsOneRollout) {
  const PpoSpec spec = small_ppo();
  Roles roles = tiny_roles(spec);
  const auto tokens = [&](uint64_t seed) {
    return generate_by_full_forward(*roles.actor, tiny_prompts(6, 0), spec, seed).tokens_BS;
  };
  EXPECT_TRUE(torch::equal(tokens(1), tokens(1)));
  EXPECT_FALSE(torch::equal(tokens(1), tokens(2)));
}

TEST(Rollout, TokensAreDrawnAsOftenAsTheModelSaysTheyAre) {
  PpoSpec spec = small_ppo();
  spec.response_length = 1;
  spec.end_token = -1;
  Roles roles = tiny_roles(spec);
  const Prompts one = {torch::tensor({{7, 2}}), {2}};
  const Experience made = generate_by_full_forward(*roles.actor, repeated(one, 20000), spec, 4);
  const Tensor counts = torch::bincount(made.tokens_BS.select(1, 2), {}, 24).to(torch::kFloat32);
  const Tensor logits = roles.actor->model()->forward(one.tokens_BP)[0][1] / spec.temperature;
  const Tensor expected = torch::softmax(logits, -1).detach();
  EXPECT_LE((counts / 20000 - expected).abs().max().item<double>(), 0.015);
}

KvCacheShape tiny_cache() {
  const ModelConfig config = model_config(tiny_role());
  return {.layers = config.layers, .kv_heads = config.kv_heads, .head_dim = config.head_dim()};
}

TEST(Rollout, NearlyGreedyTokensAreTheSameWithACacheAndWithout) {
  for (const KvCacheForm form : {KvCacheForm::kContiguous, KvCacheForm::kPaged}) {
    PpoSpec spec = small_ppo();
    spec.prompts = 24;
    spec.temperature = 1e-5;
    Roles roles = tiny_roles(spec);
    const Experience plain = some_experience(roles, spec);
    KvCacheShape cache = tiny_cache();
    cache.form = form;
    const Experience cached =
        generate_with_cache(cache)(*roles.actor, tiny_prompts(spec.prompts, 0), spec, 1);
    EXPECT_EQ(cached.response_lengths, plain.response_lengths);
    EXPECT_TRUE(torch::equal(cached.tokens_BS, plain.tokens_BS));
  }
}

TEST(Iteration, RunsWithACacheAsWithout) {
  PpoSpec spec = small_ppo();
  spec.max_tokens_per_micro_batch = 20;
  Roles roles = tiny_roles(spec);
  for (int64_t i = 0; i < 2; ++i) {
    const IterationReport report = run_iteration(spec, roles, tiny_prompts(spec.prompts, i), i,
                                                 generate_with_cache(tiny_cache()));
    EXPECT_TRUE(std::isfinite(report.actor.loss));
    EXPECT_GT(report.response_length, 1);
  }
}

// The log-probabilities of one sequence by the model alone: the expected result of packed passes.
Tensor log_probs_of_one(Step& step, const Experience& of, int64_t i, double temperature) {
  const int64_t prompt = of.prompt_lengths[static_cast<size_t>(i)];
  const int64_t response = of.response_lengths[static_cast<size_t>(i)];
  const Tensor tokens = of.tokens_BS.narrow(0, i, 1).narrow(1, 0, prompt + response);
  const Tensor logits = step.model()->forward(tokens)[0] / temperature;
  return torch::log_softmax(logits, -1)
      .narrow(0, prompt - 1, response)
      .gather(-1, tokens[0].narrow(0, prompt, response).unsqueeze(-1))
      .squeeze(-1);
}

TEST(Scoring, LogProbabilitiesAndValuesArePlacedWhereSingleSequencesHaveThem) {
  for (const int64_t budget : {0, 14, 30}) {
    SCOPED_TRACE(budget);
    PpoSpec spec = small_ppo();
    spec.max_tokens_per_micro_batch = budget;
    Roles roles = tiny_roles(spec);
    Experience made = some_experience(roles, spec);
    score(made, roles, spec);
    for (int64_t i = 0; i < made.sequences(); ++i) {
      const int64_t prompt = made.prompt_lengths[static_cast<size_t>(i)];
      const int64_t response = made.response_lengths[static_cast<size_t>(i)];
      EXPECT_LE(error_of(made.log_probs_BR[i].narrow(0, 0, response),
                         log_probs_of_one(*roles.actor, made, i, spec.temperature)),
                1e-5);
      const Tensor tokens = made.tokens_BS.narrow(0, i, 1).narrow(1, 0, prompt + response);
      const Tensor values = roles.critic->model()->forward(tokens)[0].squeeze(-1);
      EXPECT_LE(error_of(made.values_BR[i].narrow(0, 0, response),
                         values.narrow(0, prompt - 1, response)),
                1e-5);
    }
    EXPECT_TRUE(torch::equal(made.log_probs_BR, made.reference_log_probs_BR))
        << "actor and reference begin as one model";
  }
}

TEST(Scoring, ARewardModelScoresTheLastTokenOfASequence) {
  const PpoSpec spec = small_ppo();
  Roles roles = tiny_roles(spec);
  RunSpec other = tiny_role();
  other.seed = 9;
  std::vector<std::string> notes;
  roles.reward = build_role(Role::kReward, other, torch::kCPU, &notes);
  Experience made = some_experience(roles, spec);
  score(made, roles, spec);
  for (int64_t i = 0; i < made.sequences(); ++i) {
    const int64_t tokens = made.lengths()[static_cast<size_t>(i)];
    const Tensor of_one =
        roles.reward->model()->forward(made.tokens_BS.narrow(0, i, 1).narrow(1, 0, tokens));
    EXPECT_NEAR(made.scores_B[i].item<double>(), of_one[0][tokens - 1][0].item<double>(), 1e-5);
  }
}

std::map<std::string, Tensor> weights_after(const PpoSpec& spec, const RunSpec& run) {
  Roles roles = tiny_roles(spec, run);
  for (int64_t i = 0; i < 2; ++i) {
    run_iteration(spec, roles, tiny_prompts(spec.prompts, i), i);
  }
  std::map<std::string, Tensor> weights;
  for (const auto& item : roles.actor->weights()) weights[item.key()] = item.value();
  if (roles.critic) {
    for (const auto& item : roles.critic->weights()) {
      weights["critic." + item.key()] = item.value();
    }
  }
  return weights;
}

double largest_difference(const std::map<std::string, Tensor>& a,
                          const std::map<std::string, Tensor>& b) {
  double largest = 0;
  for (const auto& [name, weight] : a) largest = std::max(largest, error_of(b.at(name), weight));
  return largest;
}

// SGD, whose update is the gradient: Adam's first updates are its sign, which rounding can flip.
RunSpec sgd_role() {
  RunSpec run = tiny_role();
  run.optimizer = OptimizerKind::kSgd;
  run.optimizer_impl = OptimizerImpl::kReference;
  run.learning_rate = 0.05;
  run.max_grad_norm = 0;
  return run;
}

TEST(Iteration, PackedMicroBatchesTrainAsOneMinibatchDoes) {
  for (const LossAggregation mode : {LossAggregation::kTokenMean, LossAggregation::kSequenceMean}) {
    PpoSpec spec = small_ppo();
    spec.loss_agg_mode = mode;
    spec.entropy_coef = 0.01;
    const auto whole = weights_after(spec, sgd_role());
    spec.max_tokens_per_micro_batch = 12;
    EXPECT_LE(largest_difference(whole, weights_after(spec, sgd_role())), 1e-4);
  }
}

TEST(Iteration, ASeedIsOneRunToTheBit) {
  const auto once = weights_after(small_ppo(), tiny_role());
  const auto again = weights_after(small_ppo(), tiny_role());
  for (const auto& [name, weight] : once) EXPECT_TRUE(torch::equal(weight, again.at(name))) << name;
}

TEST(Iteration, EveryTechniqueOfAStepIsOneOfARole) {
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"checkpoint", "full"}, {"activations", "offload:min=1B"}, {"optimizer_offload", "cpu"},
      {"precision", "bf16"},  {"optimizer", "adam8bit"},         {"weights", "bf16"}};
  for (const auto& [name, value] : settings) {
    SCOPED_TRACE(testing::Message() << name << " " << value);
    PpoSpec spec = small_ppo();
    spec.max_tokens_per_micro_batch = 20;
    RunSpec run = tiny_role();
    find_field(name)->set(run, value);
    if (name == "optimizer_offload" || name == "optimizer") {
      run.optimizer_impl = OptimizerImpl::kReference;
    }
    validate(run);
    Roles roles = tiny_roles(spec, run);
    const IterationReport report = run_iteration(spec, roles, tiny_prompts(spec.prompts, 0), 0);
    EXPECT_TRUE(std::isfinite(report.actor.loss));
    EXPECT_TRUE(std::isfinite(report.critic.loss));
    EXPECT_EQ(report.actor.updates, 4);
    EXPECT_GT(report.actor.micro_batches, report.actor.updates);
  }
}

TEST(Iteration, ItsThreePhasesAreScopesAndForwardLossBackwardAndOptimizerAreInsideThem) {
  const PpoSpec spec = small_ppo();
  Roles roles = tiny_roles(spec);
  Heard heard;
  const Listening actor(*roles.actor, &heard);
  const Listening critic(*roles.critic, &heard);
  std::vector<std::string> before;
  run_iteration(spec, roles, tiny_prompts(spec.prompts, 0), 0, generate_by_full_forward,
                {.scopes = &heard,
                 .before_phase = [&](const std::string& phase) { before.push_back(phase); }});
  EXPECT_THAT(before, ElementsAre("generation", "scoring", "training"));
  std::vector<std::string> open;
  std::map<std::string, std::set<std::string>> inside;
  for (const std::string& text : heard.texts) {
    const std::string name = text.substr(1);
    if (text.front() == '-') {
      open.pop_back();
      continue;
    }
    if (!open.empty() && name.rfind("block", 0) != 0) inside[open.front()].insert(name);
    open.push_back(name);
  }
  EXPECT_TRUE(open.empty());
  EXPECT_THAT(inside["generation"], ElementsAre("forward"));
  EXPECT_THAT(inside["scoring"], ElementsAre("forward"));
  EXPECT_THAT(inside["training"],
              ElementsAre("backward", "clipping", "forward", "loss", "optimizer"));
  EXPECT_FALSE(roles.actor->model()->parameters().front().grad().defined());
  EXPECT_FALSE(roles.critic->model()->parameters().front().grad().defined());
}

TEST(Iteration, ABudgetBelowTheLongestSequenceAndAContextThatIsTooShortAreRefused) {
  PpoSpec spec = small_ppo();
  spec.max_tokens_per_micro_batch = 5;
  Roles roles = tiny_roles(spec);
  EXPECT_THROW(run_iteration(spec, roles, tiny_prompts(spec.prompts, 0), 0), UsageError);
  EXPECT_NO_THROW(validate_role(Role::kActor, tiny_role(), small_ppo(), 9));
  EXPECT_THROW(validate_role(Role::kActor, tiny_role(), small_ppo(), 10), UsageError);
  RunSpec releases = tiny_role();
  releases.release_gradients = true;
  EXPECT_THROW(validate_role(Role::kActor, releases, spec, 4), UsageError);
  EXPECT_NO_THROW(validate_role(Role::kReference, releases, spec, 4));
  RunSpec fp8 = tiny_role();
  fp8.precision = Precision::kFp8;
  EXPECT_NO_THROW(validate_role(Role::kActor, fp8, spec, 4));
  fp8.device = parse_device("virtual:h200");
  EXPECT_THROW(validate_role(Role::kActor, fp8, spec, 4), UsageError);
}

TEST(ShareOfToken, CountsTheTokensOfAResponseAndNotThoseOfItsPrompt) {
  const Experience made =
      make_experience(torch::tensor({{5, 5, 5, 1, 0}, {1, 5, 2, 5, 5}}), {2, 1}, {2, 4});
  const Tensor scores = share_of_token(5)(made);
  EXPECT_TRUE(torch::equal(scores, torch::tensor({0.5F, 0.75F})));
}

}  // namespace
}  // namespace headroom
