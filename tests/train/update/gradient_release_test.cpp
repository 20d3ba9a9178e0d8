#include "train/update/gradient_release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/support/at_night.h"
#include "tests/train/support/heard.h"
#include "tests/train/techniques/small_step.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using torch::Tensor;

RunSpec releasing() {
  RunSpec spec = tiny_spec();
  spec.release_gradients = true;
  return spec;
}

// By day each implementation in one precision, the one after it in the other.
TEST(GradientRelease, UpdatesAreTheOrdinaryOnesBitForBit) {
  int64_t place = 0;
  for (const OptimizerInfo& info : optimizers()) {
    for (const OptimizerImpl impl : info.implementations) {
      ++place;
      for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
        if (!is_at_night() && (precision == Precision::kBf16) != (place % 2 == 0)) continue;
        RunSpec spec = releasing();
        spec.optimizer = info.kind;
        spec.optimizer_impl = impl;
        spec.precision = precision;
        SmallStep released(spec);
        const std::vector<double> losses = released.run_steps(4);
        spec.release_gradients = false;
        SmallStep ordinary(spec);
        EXPECT_EQ(ordinary.run_steps(4), losses) << row_name(spec);
        EXPECT_TRUE(bit_equal(released.parameters(), ordinary.parameters())) << row_name(spec);
      }
    }
  }
}

TEST(GradientRelease, BothAttentionsAndGroupedHeadsTrainAsWithoutIt) {
  const int64_t steps = many_steps(20);
  for (const Attention attention : {Attention::kEager, Attention::kFlash}) {
    RunSpec spec = releasing();
    spec.attention = attention;
    spec.kv_heads = 2;
    const std::vector<double> losses = SmallStep(spec).run_steps(steps);
    EXPECT_EQ(SmallStep(spec).run_steps(steps), losses) << to_string(attention);
    spec.release_gradients = false;
    EXPECT_EQ(SmallStep(spec).run_steps(steps), losses) << to_string(attention);
  }
}

// Counts the existing gradients whenever one is tagged.
struct CountingTags final : MemoryTags {
  explicit CountingTags(Step& step) : parameters(step.model()->parameters()) {}
  void tag(Category category, MemorySpace, uint64_t, const std::string&) override {
    if (category != Category::kGradients) return;
    const auto defined = std::count_if(parameters.begin(), parameters.end(),
                                       [](const Tensor& p) { return p.grad().defined(); });
    counts.push_back(defined);
  }
  std::vector<Tensor> parameters;
  std::vector<int64_t> counts;
};

TEST(GradientRelease, OneGradientExistsAtATimeAndNoneAfterTheStep) {
  const SmallStep small(releasing());
  CountingTags counting(*small.step);
  const Listening listening(*small.step, nullptr, &counting);
  small.step->run(small.data.batch(0));
  EXPECT_EQ(counting.counts.size(), counting.parameters.size());
  EXPECT_THAT(counting.counts, testing::Each(1));
  for (const Tensor& gradient : small.gradients()) EXPECT_FALSE(gradient.defined());
}

TEST(GradientRelease, UpdatesArePhasesInsideTheBackward) {
  RunSpec spec = releasing();
  spec.layers = 1;
  const SmallStep small(spec);
  Heard heard;
  const Listening listening(*small.step, &heard);
  small.step->run(small.data.batch(0));
  std::vector<std::string> expected = {"+forward", "+block 0", "-block 0", "-forward",
                                       "+loss",    "-loss",    "+backward"};
  for (size_t i = 0; i < small.parameters().size(); ++i) {
    expected.insert(expected.end(), {"+optimizer", "-optimizer"});
  }
  expected.emplace_back("-backward");
  EXPECT_THAT(heard.texts, testing::ElementsAreArray(expected));
}

TEST(GradientRelease, TagsGradientsAndStateByTheNamesOfTheModel) {
  const SmallStep small(releasing());
  Heard heard;
  {
    const Listening listening(*small.step, nullptr, &heard);
    small.step->run(small.data.batch(0));
  }
  const std::vector<std::string> names = small.step->model()->named_parameters().keys();
  EXPECT_THAT(heard.names[Category::kGradients], testing::UnorderedElementsAreArray(names));
  std::vector<std::string> twice = names;  // m and v
  twice.insert(twice.end(), names.begin(), names.end());
  EXPECT_THAT(heard.names[Category::kOptimizerState], testing::UnorderedElementsAreArray(twice));
  heard = {};
  const Listening listening(*small.step, nullptr, &heard);
  EXPECT_THAT(heard.names[Category::kOptimizerState], testing::UnorderedElementsAreArray(twice));
  EXPECT_TRUE(heard.names[Category::kGradients].empty());
}

// Fails at a given update.
class Failing final : public Optimizer {
 public:
  Failing(std::vector<Tensor> parameters, int& updates)
      : Optimizer(std::move(parameters)), updates_(updates) {}
  std::vector<Tensor> state() const override { return {}; }

 private:
  void update() override {
    TORCH_CHECK(--updates_ != 0, "no room");
    parameters_.front() -= parameters_.front().grad();
  }
  void make_state(int64_t /*updates*/) override {}
  int& updates_;
};

struct TwoParameters {
  TwoParameters() {
    all.insert("first", torch::ones({2}).set_requires_grad(true));
    all.insert("second", torch::ones({2}).set_requires_grad(true));
  }
  void backward() { (all["first"] * all["second"]).sum().backward(); }

  torch::OrderedDict<std::string, Tensor> all;
};

TEST(GradientRelease, AFailureComesOutOfBackwardAndTheNextOneIsWhole) {
  TwoParameters two;
  int updates = 2;
  GradientRelease release(two.all, [&](std::vector<Tensor> parameters, size_t) {
    return std::make_unique<Failing>(std::move(parameters), updates);
  });
  release.begin_step();
  EXPECT_THROW(two.backward(), c10::Error);
  StepHooks none;
  EXPECT_THROW(release.finish(1, none), c10::Error);
  for (const auto& item : two.all) item.value().mutable_grad() = Tensor();
  release.begin_step();
  two.backward();
  EXPECT_NO_THROW(release.finish(1, none));
  for (const auto& item : two.all) EXPECT_FALSE(item.value().grad().defined());
}

TEST(GradientRelease, AParameterThatBackwardDoesNotReachIsAnErrorAsItIsWithoutRelease) {
  const SmallStep small(releasing());
  small.step->model()->named_parameters()["ln_final.weight"].set_requires_grad(false);
  EXPECT_THROW(small.step->run(small.data.batch(0)), c10::Error);
}

TEST(GradientRelease, WhereItEndsGradientsStayAsUsual) {
  TwoParameters two;
  int updates = 0;
  {
    const GradientRelease release(two.all, [&](std::vector<Tensor> parameters, size_t) {
      return std::make_unique<Failing>(std::move(parameters), updates);
    });
  }
  two.backward();
  for (const auto& item : two.all) EXPECT_TRUE(item.value().grad().equal(torch::ones({2})));
}

}  // namespace
}  // namespace headroom
