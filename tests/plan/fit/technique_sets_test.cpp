#include "plan/fit/sets/technique_sets.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace headroom {
namespace {

RunSpec training() {
  return {.model_size = "small",
          .context_length = 128,
          .batch_size = 4,
          .profile_type = Mode::kTraining,
          .device = {.kind = DeviceKind::kVirtual, .card = "rtx4090"}};
}

std::vector<TechniqueSet> all_sets(const CostOrder& order = {}) {
  return technique_sets(training(), technique_list(training()), order);
}

TEST(TechniqueSets, BeginWithNothingAndRiseInCost) {
  const CostOrder order;
  const std::vector<TechniqueSet> sets = all_sets(order);
  EXPECT_EQ(sets.front().in_words(), "nothing");
  EXPECT_EQ(to_json(sets.front().spec), to_json(training()));
  for (size_t i = 1; i < sets.size(); ++i) {
    EXPECT_TRUE(order.is_cheaper(sets[i - 1].cost, sets[i].cost)) << sets[i].in_words();
  }
}

TEST(TechniqueSets, CanAllBeRunAndAreAllDifferent) {
  std::set<std::string> specs;
  for (const TechniqueSet& set : all_sets()) {
    EXPECT_NO_THROW(validate(set.spec)) << set.in_words();
    EXPECT_TRUE(specs.insert(to_json(set.spec).dump()).second) << set.in_words();
  }
}

TEST(TechniqueSets, NoLevelOfATechniqueIsMissing) {
  std::set<std::string> names;
  for (const TechniqueSet& set : all_sets()) names.insert(set.names.begin(), set.names.end());
  for (const RunTechnique& technique : technique_list(training())) {
    for (const TechniqueLevel& level : technique.levels) {
      EXPECT_EQ(names.count(level.name), 1U) << level.name;
    }
  }
}

TEST(TechniqueSets, ADiskIsADearerLevelOfWhatGoesToTheHost) {
  const CostOrder order;
  const auto sets = technique_sets(training(), technique_list(training(), "/mnt/nvme"), order);
  std::map<std::string, size_t> first;  // place of the first set with each home
  for (size_t i = 0; i < sets.size(); ++i) {
    EXPECT_NO_THROW(validate(sets[i].spec)) << sets[i].in_words();
    const RunSpec& spec = sets[i].spec;
    first.try_emplace(to_string(spec.optimizer_offload) + " " + to_string(spec.param_offload), i);
  }
  const std::vector<std::string> homes = {
      "none none",          "cpu none",           "nvme:/mnt/nvme none",          "cpu cpu",
      "nvme:/mnt/nvme cpu", "cpu nvme:/mnt/nvme", "nvme:/mnt/nvme nvme:/mnt/nvme"};
  ASSERT_EQ(first.size(), homes.size());
  for (size_t i = 1; i < homes.size(); ++i) EXPECT_LT(first.at(homes[i - 1]), first.at(homes[i]));
  std::set<std::string> back;
  for (const size_t place : one_step_back(sets, first.at("nvme:/mnt/nvme none"))) {
    back.insert(to_string(sets[place].spec.optimizer_offload));
  }
  EXPECT_EQ(back, (std::set<std::string>{"none", "cpu"}));
}

TEST(TechniqueSets, OffloadAnd8BitsTogetherAreOneValue) {
  for (const char* typed : {"activation-offload,activations", "activations,activation-offload"}) {
    std::set<std::string> values;
    for (const TechniqueSet& set : all_sets(CostOrder("--cost-order", typed))) {
      const bool sends = set.cost.at(static_cast<size_t>(Technique::kActivationOffload)) > 0;
      const bool encodes = set.cost.at(static_cast<size_t>(Technique::kActivations8Bit)) > 0;
      EXPECT_EQ(set.spec.activations.offloaded(), sends) << set.in_words();
      EXPECT_EQ(set.spec.activations.encoded(), encodes) << set.in_words();
      values.insert(to_string(set.spec.activations));
    }
    EXPECT_EQ(values, (std::set<std::string>{"exact", "int8", "offload", "offload-int8"}));
  }
}

TEST(TechniqueSets, RiseInAnOrderOfOnesOwn) {
  const CostOrder order("--cost-order", "alloc-conf,other-optimizer,checkpoint");
  const std::vector<TechniqueSet> sets = all_sets(order);
  EXPECT_EQ(sets.size(), all_sets().size());
  for (size_t i = 1; i < sets.size(); ++i) {
    EXPECT_TRUE(order.is_cheaper(sets[i - 1].cost, sets[i].cost));
  }
}

TEST(TechniqueSets, MicroBatchesDivideTheBatch) {
  RunSpec six = training();
  six.batch_size = 6;
  std::set<int64_t> parts;
  for (const TechniqueSet& set : technique_sets(six, technique_list(six), {})) {
    parts.insert(set.spec.micro_batches);
  }
  EXPECT_EQ(parts, (std::set<int64_t>{1, 2, 3, 6}));
}

TEST(TechniqueSets, OneStepBackTakesOneTechniqueBack) {
  const std::vector<TechniqueSet> sets = all_sets();
  for (size_t i = 0; i < sets.size(); i += 37) {
    for (const size_t back : one_step_back(sets, i)) {
      EXPECT_TRUE(needs_all_of(sets[i].cost, sets[back].cost));
      size_t changed = 0;
      for (size_t technique = 0; technique < kTechniques; ++technique) {
        changed += sets[i].cost.at(technique) == sets[back].cost.at(technique) ? 0 : 1;
      }
      EXPECT_EQ(changed, 1U);
    }
  }
  EXPECT_TRUE(one_step_back(sets, 0).empty());
}

}  // namespace
}  // namespace headroom
