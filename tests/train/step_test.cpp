// The scopes and tags that a step reports to its listeners.
#include "train/step.h"

#include <ATen/record_function.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/support/heard.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using torch::Tensor;

struct TinyStep {
  explicit TinyStep(Mode mode) {
    spec.profile_type = mode;
    spec.layers = 2;
    std::vector<std::string> notes;
    step = build_step(spec, torch::kCPU, &notes);
    data = std::make_unique<Data>(spec, spec.vocab_size, torch::kCPU, 10);
  }

  RunSpec spec = tiny_spec();
  std::unique_ptr<Step> step;
  std::unique_ptr<Data> data;
};

std::vector<uint64_t> addresses(const std::vector<Tensor>& tensors) {
  std::vector<uint64_t> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(reinterpret_cast<uint64_t>(tensor.storage().data()));
  }
  return result;
}

std::vector<uint64_t> gradients(Step& step) {
  std::vector<Tensor> all;
  for (const Tensor& parameter : step.model()->parameters()) {
    if (parameter.grad().defined()) all.push_back(parameter.grad());
  }
  return addresses(all);
}

TEST(Step, TellsItsPhasesAndBlocksInTheOrderTheyRun) {
  const TinyStep tiny(Mode::kTraining);
  Heard heard;
  const Listening listening(*tiny.step, &heard);
  tiny.step->run(tiny.data->batch(0));
  EXPECT_THAT(heard.texts,
              ElementsAre("+forward", "+block 0", "-block 0", "+block 1", "-block 1", "-forward",
                          "+loss", "-loss", "+backward", "-backward", "+optimizer", "-optimizer"));
  EXPECT_EQ(heard.kinds.at("forward"), ScopeKind::kSaving);
  EXPECT_EQ(heard.kinds.at("loss"), ScopeKind::kSaving);
  EXPECT_EQ(heard.kinds.at("backward"), ScopeKind::kBackward);
  EXPECT_EQ(heard.kinds.at("optimizer"), ScopeKind::kPhase);
  EXPECT_TRUE(heard.tags.empty()) << "who hears the scopes alone costs the step no tags";
}

TEST(Step, AForwardSavesWhereItKeepsAGraph) {
  for (const Mode mode : {Mode::kForward, Mode::kForwardGrad}) {
    const TinyStep tiny(mode);
    Heard heard;
    const Listening listening(*tiny.step, &heard);
    tiny.step->run(tiny.data->batch(0));
    EXPECT_EQ(heard.kinds.at("forward"),
              mode == Mode::kForward ? ScopeKind::kPhase : ScopeKind::kSaving);
  }
}

TEST(Step, TagsWhatIsThereWhenSomebodyBeginsToListen) {
  const TinyStep tiny(Mode::kTraining);
  tiny.step->run(tiny.data->batch(0));
  Heard heard;
  const Listening listening(*tiny.step, nullptr, &heard);
  EXPECT_THAT(heard.tags[Category::kParameters],
              ElementsAreArray(addresses(tiny.step->model()->parameters())));
  EXPECT_THAT(heard.tags[Category::kGradients], ElementsAreArray(gradients(*tiny.step)));
  EXPECT_THAT(heard.tags[Category::kOptimizerState],
              ElementsAreArray(addresses(tiny.step->update->state())));
  EXPECT_THAT(heard.tags[Category::kOther],
              ElementsAreArray(addresses(tiny.step->model()->tables())));
  EXPECT_THAT(heard.spaces, testing::Each(MemorySpace::kHost));
}

TEST(Step, TagsByTheNamesThatTheModelGives) {
  const TinyStep tiny(Mode::kTraining);
  tiny.step->run(tiny.data->batch(0));
  Heard heard;
  const Listening listening(*tiny.step, nullptr, &heard);
  const std::vector<std::string> names = tiny.step->model()->named_parameters().keys();
  EXPECT_THAT(heard.names[Category::kParameters], ElementsAreArray(names));
  EXPECT_THAT(heard.names[Category::kGradients], ElementsAreArray(names));
  std::vector<std::string> twice = names;  // of m, then of v
  twice.insert(twice.end(), names.begin(), names.end());
  EXPECT_THAT(heard.names[Category::kOptimizerState], ElementsAreArray(twice));
}

TEST(Step, TagsWhatItMakesAsItRuns) {
  const TinyStep tiny(Mode::kTraining);
  Heard heard;
  const Listening listening(*tiny.step, nullptr, &heard);
  heard.tags.clear();
  const Batch batch = tiny.data->batch(0);
  tiny.step->run(batch);
  EXPECT_THAT(heard.tags[Category::kOther],
              ElementsAreArray(addresses({batch.tokens_BS, batch.targets_BS})));
  EXPECT_THAT(heard.tags[Category::kGradients], ElementsAreArray(gradients(*tiny.step)));
  EXPECT_THAT(heard.tags[Category::kOptimizerState],
              ElementsAreArray(addresses(tiny.step->update->state())));
  EXPECT_EQ(heard.tags.count(Category::kParameters), 0) << "they were tagged before";
}

TEST(Step, ABackwardThatReachesSomeParametersTagsTheirGradientsAlone) {
  const TinyStep tiny(Mode::kForwardBackward);
  for (Tensor& parameter : tiny.step->model()->parameters()) parameter.set_requires_grad(false);
  tiny.step->model()->named_parameters()["lm_head.weight"].set_requires_grad(true);
  Heard heard;
  const Listening listening(*tiny.step, nullptr, &heard);
  tiny.step->run(tiny.data->batch(0));
  EXPECT_EQ(heard.tags[Category::kGradients].size(), 1U);
  EXPECT_THAT(heard.tags[Category::kGradients], ElementsAreArray(gradients(*tiny.step)));
}

TEST(Step, WhoNoLongerListensHearsNothing) {
  const TinyStep tiny(Mode::kForward);
  Heard heard;
  { const Listening listening(*tiny.step, &heard, &heard); }
  heard = {};
  tiny.step->run(tiny.data->batch(0));
  EXPECT_TRUE(heard.texts.empty());
  EXPECT_TRUE(heard.tags.empty());
}

// The scopes are also ranges in libtorch's own profilers.
TEST(Step, AProfilerOfLibtorchSeesTheScopes) {
  static std::vector<std::string>* names = nullptr;
  std::vector<std::string> seen;
  names = &seen;
  const TinyStep tiny(Mode::kForward);
  const at::CallbackHandle handle =
      at::addGlobalCallback(at::RecordFunctionCallback([](const at::RecordFunction& function) {
                              names->emplace_back(function.name());
                              return std::unique_ptr<at::ObserverContext>();
                            }).scopes({at::RecordScope::USER_SCOPE}));
  tiny.step->run(tiny.data->batch(0));
  at::removeCallback(handle);
  EXPECT_THAT(seen, ElementsAre("forward", "block 0", "block 1"));
}

}  // namespace
}  // namespace headroom
