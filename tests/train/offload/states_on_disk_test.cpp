// The host's update of states in files: the same bits as in memory, and a run that continues
// another one. The files themselves: tests/train/offload/disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/at_night.h"
#include "tests/train/techniques/small_step.h"
#include "train/data/weights.h"
#include "train/hooks/listening.h"
#include "train/offload/states/offloaded_optimizer.h"

namespace headroom {
namespace {

// A run with two pieces of a file for the wider matrices of a block.
RunSpec of_wide_matrices(WeightType weights) {
  RunSpec spec = tiny_spec();
  spec.d_model = 512;
  spec.d_ff = 640;
  spec.layers = 2;
  spec.context_length = 4;
  spec.weights = weights;
  if (weights == WeightType::kBf16) spec.master_weights = MasterCopy::kFp32;
  return spec;
}

RunSpec kept(RunSpec spec, const std::string& setting) {
  spec.optimizer_offload = parse_offload("--optimizer-offload", setting);
  return spec;
}

void expect_same(const NamedTensors& one, const NamedTensors& other) {
  for (const auto& item : one) EXPECT_TRUE(item.value().equal(other[item.key()])) << item.key();
}

int64_t steps_done(const SmallStep& small) {
  return small.step->update->host_states()->steps_done();
}

// By day each value once.
std::vector<RunSpec> runs_of_wide_matrices() {
  std::vector<RunSpec> runs;
  for (const WeightType weights : {WeightType::kFp32, WeightType::kBf16}) {
    for (const char* parameters : {"none", "cpu"}) {
      runs.push_back(of_wide_matrices(weights));
      runs.back().param_offload = parse_offload("--param-offload", parameters);
    }
  }
  return share_by_day(runs, 3);
}

TEST(StatesOnDisk, LossesWeightsAndMastersAreThoseOfStatesInMemoryToTheBit) {
  for (const RunSpec& spec : runs_of_wide_matrices()) {
    SmallStep in_memory(kept(spec, "cpu"));
    SmallStep on_disk(kept(spec, "nvme:."));
    EXPECT_EQ(on_disk.run_steps(2), in_memory.run_steps(2)) << to_json(spec).dump();
    expect_same(on_disk.step->weights(), in_memory.step->weights());
  }
}

TEST(StatesOnDisk, TwoRunsThatGoOnAreOneRun) {
  for (RunSpec spec : runs_of_wide_matrices()) {
    const std::vector<double> losses = SmallStep(kept(spec, "cpu")).run_steps(3);
    const ScratchDirectory folder;
    spec = kept(spec, "nvme:" + folder.path() + ",keep");
    std::vector<double> of_both = SmallStep(spec).run_steps(1);
    SmallStep second(spec);
    EXPECT_EQ(steps_done(second), 1);
    for (int64_t i = steps_done(second); i < 3; ++i) of_both.push_back(second.run(i));
    EXPECT_EQ(of_both, losses) << to_json(spec).dump();
  }
}

TEST(StatesOnDisk, MastersOfBf16WeightsBeginAsTheNumbersOfAFile) {
  const ScratchDirectory folder;
  RunSpec spec = of_wide_matrices(WeightType::kBf16);
  SmallStep usual(spec);
  save_weights(usual.step->weights(), folder.file("weights"));
  spec.seed = 2;
  spec.load_weights = folder.file("weights");
  for (const char* setting : {"cpu", "nvme:."}) {
    expect_same(SmallStep(kept(spec, setting)).step->weights(), usual.step->weights());
  }
}

TEST(StatesOnDisk, NothingOfThemIsTaggedInMemory) {
  struct Tagged final : MemoryTags {
    void tag(Category category, MemorySpace, uint64_t, const std::string&) override {
      categories.push_back(category);
    }
    std::vector<Category> categories;
  } tagged;
  const SmallStep small(kept(tiny_spec(), "nvme:."));
  const Listening listening(*small.step, nullptr, &tagged);
  small.step->run(small.data.batch(0));
  EXPECT_THAT(tagged.categories, testing::Not(testing::Contains(Category::kMasterWeights)));
  EXPECT_THAT(tagged.categories, testing::Not(testing::Contains(Category::kOptimizerState)));
}

TEST(StatesOnDisk, AStepThatFailsInBackwardHasChangedNothing) {
  expect_a_failed_backward_changes_nothing(kept(tiny_spec(), "nvme:."));
}

}  // namespace
}  // namespace headroom
