// A step with the caller's losses, in parts, as used to train roles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "model/loss.h"
#include "model/parameter_table.h"
#include "tests/train/ppo/close.h"
#include "tests/train/support/heard.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"
#include "train/data/data.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

using torch::Tensor;
using Weights = std::map<std::string, Tensor>;

std::unique_ptr<Step> tiny_step(const RunSpec& spec) {
  std::vector<std::string> notes;
  return build_step(spec, torch::kCPU, &notes);
}

Weights weights_of(Step& step) {
  Weights weights;
  for (const auto& item : step.weights()) weights[item.key()] = item.value().detach().clone();
  return weights;
}

double error_of_all(const Weights& made, const Weights& expected) {
  double error = 0;
  for (const auto& [name, weight] : expected) {
    error = std::max(error, error_of(made.at(name), weight));
  }
  return error;
}

// Cross entropy like the step's own: each part is the mean over its sequences, weighted by its
// share of the batch.
std::vector<MicroBatch> language_parts(const Batch& batch, const std::vector<int64_t>& sizes) {
  std::vector<MicroBatch> parts;
  int64_t first = 0;
  for (const int64_t size : sizes) {
    const Tensor targets_BS = batch.targets_BS.narrow(0, first, size);
    const double share = static_cast<double>(size) / static_cast<double>(batch.tokens_BS.size(0));
    parts.push_back({.tokens_BS = batch.tokens_BS.narrow(0, first, size),
                     .loss = [targets_BS, share](Transformer& model, const Tensor& hidden_BSD) {
                       return share * cross_entropy(model->head(hidden_BSD), targets_BS);
                     }});
    first += size;
  }
  return parts;
}

RunSpec spec_of_four() {
  RunSpec spec = tiny_spec();
  spec.batch_size = 4;
  return spec;
}

struct Ran {
  std::vector<double> losses;
  Weights weights;
};

// Three steps with the step's own loss, or with the same loss from the caller in parts of `sizes`.
Ran three_steps(const RunSpec& spec, const std::vector<int64_t>& sizes) {
  const auto step = tiny_step(spec);
  const Data data(spec, spec.vocab_size, torch::kCPU, 3);
  Ran ran;
  for (int64_t i = 0; i < 3; ++i) {
    const Batch batch = data.batch(i);
    const Tensor loss = sizes.empty() ? step->run(batch) : step->run(language_parts(batch, sizes));
    ran.losses.push_back(loss.item<double>());
  }
  ran.weights = weights_of(*step);
  return ran;
}

TEST(StepParts, ALossOfTheCallersThatIsTheStepsOwnGivesTheSameWeightsToTheBit) {
  const Ran own = three_steps(spec_of_four(), {});
  const Ran given = three_steps(spec_of_four(), {4});
  EXPECT_EQ(given.losses, own.losses);
  for (const auto& [name, weight] : own.weights) {
    EXPECT_TRUE(torch::equal(given.weights.at(name), weight)) << name;
  }
}

TEST(StepParts, SharesOfUnequalPartsAddUpToTheBatch) {
  const Ran own = three_steps(spec_of_four(), {});
  const Ran parts = three_steps(spec_of_four(), {3, 1});
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(parts.losses[i], own.losses[i], 1e-5);
  EXPECT_LE(error_of_all(parts.weights, own.weights), 1e-4);
}

TEST(StepParts, EveryTechniqueOfAStepGoesWithThem) {
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"checkpoint", "full"},
      {"checkpoint", "selective"},
      {"activations", "offload:min=1B"},
      {"activations", "int8:min=1B"},
      {"precision", "bf16"},
      {"optimizer", "adam8bit"},
      {"optimizer_offload", "cpu"},
      {"max_grad_norm", "0.5"}};
  for (const auto& [name, value] : settings) {
    SCOPED_TRACE(testing::Message() << name << " " << value);
    RunSpec spec = spec_of_four();
    find_field(name)->set(spec, value);
    const Ran own = three_steps(spec, {});
    const Ran given = three_steps(spec, {4});
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(given.losses[i], own.losses[i], 2e-2);
    const Ran parts = three_steps(spec, {1, 2, 1});
    EXPECT_NEAR(parts.losses[2], own.losses[2], 2e-2);
  }
}

TEST(StepParts, ParametersOnTheHostAreThereForAForwardWithoutGradientsBetweenTwoUpdates) {
  RunSpec spec = spec_of_four();
  find_field("param_offload")->set(spec, "cpu");
  find_field("optimizer_offload")->set(spec, "cpu");
  const auto step = tiny_step(spec);
  const auto resident = tiny_step(spec_of_four());
  const Data data(spec, spec.vocab_size, torch::kCPU, 3);
  for (int64_t i = 0; i < 3; ++i) {
    const Batch batch = data.batch(i);
    const auto logits = [&](Step& of) {
      return of.infer(batch.tokens_BS,
                      [](Transformer& model, const Tensor& h) { return model->head(h); });
    };
    EXPECT_LE(error_of(logits(*step), logits(*resident)), 1e-5);
    step->run(language_parts(batch, {2, 2}));
    resident->run(language_parts(batch, {2, 2}));
  }
}

TEST(StepParts, TellItsPhasesForEachPartAndOneUpdate) {
  const RunSpec spec = spec_of_four();
  const auto step = tiny_step(spec);
  Heard heard;
  const Listening listening(*step, &heard, &heard);
  step->run(language_parts(Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0), {2, 2}));
  std::vector<std::string> begun;
  for (const std::string& text : heard.texts) {
    if (text.front() == '+' && text.find("block") == std::string::npos) begun.push_back(text);
  }
  EXPECT_THAT(begun, testing::ElementsAre("+forward", "+loss", "+backward", "+forward", "+loss",
                                          "+backward", "+optimizer"));
  EXPECT_FALSE(heard.tags[Category::kGradients].empty());
  EXPECT_FALSE(heard.tags[Category::kOptimizerState].empty());
}

TEST(StepParts, AForwardWithoutGradientsKeepsNoneAndSavesNothing) {
  const RunSpec spec = spec_of_four();
  const auto step = tiny_step(spec);
  Heard heard;
  const Listening listening(*step, &heard);
  const Tensor tokens_BS = Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0).tokens_BS;
  const Tensor hidden_BSD =
      step->infer(tokens_BS, [](Transformer&, const Tensor& hidden) { return hidden; });
  EXPECT_FALSE(hidden_BSD.requires_grad());
  EXPECT_EQ(hidden_BSD.sizes(), (std::vector<int64_t>{4, 16, 32}));
  EXPECT_EQ(heard.kinds.at("forward"), ScopeKind::kPhase);
}

TEST(StepParts, GradientsAreGoneWhenTheyAreFreed) {
  const RunSpec spec = spec_of_four();
  const auto step = tiny_step(spec);
  step->run(language_parts(Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0), {4}));
  EXPECT_TRUE(step->model()->parameters().front().grad().defined());
  step->free_gradients();
  for (const Tensor& parameter : step->model()->parameters()) {
    EXPECT_FALSE(parameter.grad().defined());
  }
}

TEST(StepParts, SeveralPartsAreRefusedWhereEachBackwardUpdates) {
  RunSpec spec = spec_of_four();
  spec.release_gradients = true;
  const auto step = tiny_step(spec);
  const Batch batch = Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0);
  step->run(language_parts(batch, {4}));
  EXPECT_THROW(step->run(language_parts(batch, {2, 2})), c10::Error);
  spec = spec_of_four();
  spec.profile_type = Mode::kForward;
  EXPECT_THROW(tiny_step(spec)->run(language_parts(batch, {4})), c10::Error);
}

TEST(StepParts, AModelOfOneOutputGivesANumberForEachPosition) {
  const RunSpec spec = spec_of_four();
  ModelConfig config = model_config(spec);
  config.outputs = 1;
  std::vector<std::string> notes;
  const auto step = build_step(spec, config, torch::kCPU, &notes);
  int64_t parameters = 0;
  for (const Tensor& parameter : step->model()->parameters()) parameters += parameter.numel();
  EXPECT_EQ(parameters, parameter_count(config));
  EXPECT_EQ(parameters, parameter_count(model_config(spec)) - (50 - 1) * 32);
  const Tensor tokens_BS = Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0).tokens_BS;
  EXPECT_EQ(step->model()->forward(tokens_BS).sizes(), (std::vector<int64_t>{4, 16, 1}));
}

}  // namespace
}  // namespace headroom
