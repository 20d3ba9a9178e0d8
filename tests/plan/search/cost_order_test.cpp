#include "plan/search/cost_order.h"

#include <gtest/gtest.h>

#include "text/quantity.h"

namespace headroom {
namespace {

Cost only(Technique technique, int64_t level = 1) {
  Cost cost{};
  cost.at(static_cast<size_t>(technique)) = level;
  return cost;
}

TEST(CostOrder, TheTableIsInTheOrderOfTheEnumeration) {
  for (size_t i = 0; i < kTechniques; ++i) {
    EXPECT_EQ(static_cast<size_t>(cost_table().at(i).technique), i);
  }
}

TEST(CostOrder, TheDearestThatOnlyOneNeedsDecides) {
  const CostOrder order;
  Cost cheap_things = only(Technique::kMicroBatches, 4);
  cheap_things.at(static_cast<size_t>(Technique::kFusedAttention)) = 1;
  EXPECT_TRUE(order.is_cheaper(cheap_things, only(Technique::kCheckpoint)));
  EXPECT_FALSE(order.is_cheaper(only(Technique::kCheckpoint), cheap_things));
  EXPECT_TRUE(order.is_cheaper(only(Technique::kCheckpoint), only(Technique::kCheckpoint, 2)));
  EXPECT_FALSE(order.is_cheaper(only(Technique::kCheckpoint), only(Technique::kCheckpoint)));
}

TEST(CostOrder, NamedTechniquesChangePlacesAndOthersStay) {
  const CostOrder usual;
  const CostOrder other("--cost-order", "checkpoint,bf16-weights");
  EXPECT_TRUE(usual.is_cheaper(only(Technique::kCheckpoint), only(Technique::kBf16Weights)));
  EXPECT_TRUE(other.is_cheaper(only(Technique::kBf16Weights), only(Technique::kCheckpoint)));
  size_t differ = 0;
  for (size_t i = 0; i < kTechniques; ++i) {
    differ += usual.dearest_first()[i] == other.dearest_first()[i] ? 0 : 1;
  }
  EXPECT_EQ(differ, 2U);
  const CostOrder same("--cost-order", "bf16-weights,checkpoint");
  EXPECT_EQ(same.dearest_first(), usual.dearest_first());
}

TEST(CostOrder, PlansNameTheirTechniquesAndRunsTheirs) {
  const CostOrder order;
  EXPECT_EQ(order.in_words(TechniqueScope::kInPlans),
            "optimizer offload, pipeline, swapped phases, ZeRO-3, checkpointing, reference "
            "offload, tensor parallelism, micro-batches, ZeRO-1 and 2");
  EXPECT_EQ(order.in_words(TechniqueScope::kInRuns).find("ZeRO"), std::string::npos);
  EXPECT_EQ(order.in_words(TechniqueScope::kInMeshes).substr(0, 74),
            "parameter offload, optimizer offload, pipeline, activation offload, ZeRO-3");
}

TEST(CostOrder, EachStepOfAMeshIsALevelOfOneTechnique) {
  const CostOrder order;
  Cost before{};
  for (int64_t zero = 1; zero <= 3; ++zero) {
    Cost cost{};
    add_mesh(cost, 1, 1, zero);
    EXPECT_TRUE(order.is_cheaper(before, cost));
    EXPECT_TRUE(needs_all_of(cost, before));
    before = cost;
  }
  Cost wide{}, stages{};
  add_mesh(wide, 8, 1, 0);
  add_mesh(stages, 1, 2, 0);
  EXPECT_TRUE(order.is_cheaper(wide, before)) << "ZeRO-3 is dearer than tp";
  EXPECT_TRUE(order.is_cheaper(before, stages)) << "and bubbles are dearer still";
}

TEST(CostOrder, RefusesWhatIsNoTechniqueOfARunOrNamedTwice) {
  EXPECT_THROW(CostOrder("--cost-order", "checkpoint,swap-phases"), UsageError);
  EXPECT_NO_THROW(CostOrder("--cost-order", "checkpoint,zero-3")) << "of runs on many ranks";
  EXPECT_THROW(CostOrder("--cost-order", "checkpoint,checkpoint"), UsageError);
  EXPECT_THROW(parse_techniques("--allow", ""), UsageError);
  EXPECT_THROW(parse_techniques("--allow", "checkpont"), UsageError);
}

}  // namespace
}  // namespace headroom
