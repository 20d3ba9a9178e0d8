#include "plan/search/recommend.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "plan/search/setup_space.h"
#include "tests/plan/rlhf/small_plan.h"
#include "tests/support/at_night.h"

namespace headroom {
namespace {

RlhfSpec plan_of(const char* size, int64_t gpus, const char* card = "h100-80gb") {
  RlhfSpec spec = small_plan();
  spec.actor = *find_config(size);
  spec.critic = spec.actor;
  spec.reward = spec.actor;
  spec.batch_size = 4;
  spec.seq_len = 2048;
  spec.response_len = 1024;
  spec.card = find_card(card);
  spec.num_gpus = gpus;
  return spec;
}

RlhfSpec supervised(RlhfSpec spec) {
  spec.critic.reset();
  spec.reward.reset();
  spec.setup.reference = Reference::kNone;
  spec.response_len = 0;
  return spec;
}

TEST(Recommend, ASmallModelNeedsNothing) {
  const Recommendation found = recommend(plan_of("small", 1));
  ASSERT_EQ(found.fitting.size(), 1U) << "everything else would be this with something added";
  EXPECT_EQ(cost_of(plan_of("small", 1), found.fitting[0].spec.setup), Cost{});
  EXPECT_TRUE(found.fitting[0].reasons.empty());
}

// Single techniques, the dearest first, in the order of the table in plan/search/cost_order.cpp.
TEST(Recommend, RanksTechniquesByTheStatedOrderOfCosts) {
  RlhfSpec spec = plan_of("70b", 8);
  const auto cost = [&](const std::function<void(RlhfSetup&)>& use) {
    RlhfSetup setup{.micro_batch_size = spec.batch_size};
    use(setup);
    return cost_of(spec, setup);
  };
  const std::vector<Cost> costs = {
      cost([](RlhfSetup& setup) { setup.optimizer_space = MemorySpace::kHost; }),
      cost([](RlhfSetup& setup) { setup.layout.pp = 4; }),
      cost([](RlhfSetup& setup) { setup.layout.pp = 2; }),
      cost([](RlhfSetup& setup) { setup.swap_phases = true; }),
      cost([](RlhfSetup& setup) { setup.layout.zero = 3; }),
      cost([](RlhfSetup& setup) { setup.checkpoint = {CheckpointKind::kFull}; }),
      cost([](RlhfSetup& setup) { setup.checkpoint = {CheckpointKind::kSelective}; }),
      cost([](RlhfSetup& setup) { setup.reference = Reference::kOffload; }),
      cost([](RlhfSetup& setup) { setup.layout.tp = 8; }),
      cost([](RlhfSetup& setup) { setup.layout.tp = 2; }),
      cost([](RlhfSetup& setup) { setup.micro_batch_size = 1; }),
      cost([](RlhfSetup& setup) { setup.micro_batch_size = 2; }),
      cost([](RlhfSetup& setup) { setup.layout.zero = 2; }),
      cost([](RlhfSetup& setup) { setup.layout.zero = 1; }),
      cost([](RlhfSetup&) {}),
  };
  for (size_t i = 1; i < costs.size(); ++i) EXPECT_LT(costs[i], costs[i - 1]) << i;
}

// Checks for a rank without room, by the first such rank. The certain part does not exceed the
// rehearsed one, see RehearsedTraining.NeedsNoLessThanWhatTheUpdateBeginsWith.
class Room {
 public:
  bool is_short(const RlhfSpec& spec) {
    const int64_t bytes = spec.card.total_bytes;
    auto& models = models_[spec.micro_batch()];
    if (!models) models = std::make_unique<RlhfModels>(spec);
    return least_bytes(spec, added_up(spec, *models)) > bytes ||
           worst_rank(spec, *models, bytes).peak_bytes(spec.setup.swap_phases) > bytes;
  }

 private:
  std::map<int64_t, std::unique_ptr<RlhfModels>> models_;
};

// The search's typical cases, and some around them.
class Searches : public testing::TestWithParam<RlhfSpec> {};

TEST_P(Searches, ReturnWhatFitsCheapestFirstAndEachStepIsNeeded) {
  const RlhfSpec& spec = GetParam();
  const Recommendation found = recommend(spec);
  ASSERT_FALSE(found.fitting.empty());
  ASSERT_LE(found.fitting.size(), 3U);
  Cost before{};
  Room room;
  for (const Recommended& one : found.fitting) {
    ASSERT_NO_THROW(validate(one.spec));
    EXPECT_EQ(one.spec.setup.layout.ranks(), spec.num_gpus);
    EXPECT_GE(one.margin(), 0);
    EXPECT_EQ(one.peak,
              worst_rank(one.spec, RlhfModels(one.spec)).peak_bytes(one.spec.setup.swap_phases));
    const Cost cost = cost_of(spec, one.spec.setup);
    if (&one != &found.fitting.front()) {
      EXPECT_LT(before, cost);
    }
    before = cost;
    const std::vector<StepBack> steps = one_step_back(spec, one.spec.setup);
    EXPECT_EQ(steps.size(), one.reasons.size());
    for (const StepBack& step : steps) {
      if (!step.refused.empty()) continue;
      RlhfSpec without = one.spec;
      without.setup = step.setup;
      EXPECT_TRUE(room.is_short(without)) << step.technique << " was not needed";
    }
  }
}

// Nothing cheaper fits: the whole space, tried without the search.
TEST_P(Searches, MissNothingCheaper) {
  const RlhfSpec& spec = GetParam();
  const Recommendation found = recommend(spec);
  ASSERT_FALSE(found.fitting.empty());
  const Cost cheapest = cost_of(spec, found.fitting[0].spec.setup);
  Room room;
  for (const RlhfSetup& setup : all_setups(spec)) {
    if (!(cost_of(spec, setup) < cheapest)) continue;
    RlhfSpec trial = spec;
    trial.setup = setup;
    EXPECT_TRUE(room.is_short(trial)) << to_string(setup.layout);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Searches,
                         testing::Values(plan_of("small", 4), plan_of("7b", 8), plan_of("7b", 2),
                                         plan_of("70b", 8), supervised(plan_of("7b", 1, "rtx4090")),
                                         supervised(plan_of("70b", 8)),
                                         supervised(plan_of("405b", 128)), plan_of("405b", 1024)));

TEST(Recommend, KeepsToWhatRealSystemsCan) {
  RlhfSpec spec = plan_of("405b", 1024);
  spec.batch_size = 16;
  for (const RlhfSetup& setup : all_setups(spec)) {
    const Layout& layout = setup.layout;
    EXPECT_EQ(layout.ranks(), 1024);
    EXPECT_LE(layout.tp, kGpusPerNode);
    EXPECT_EQ(spec.actor.kv_heads % layout.tp, 0);
    EXPECT_EQ(spec.actor.layers % layout.pp, 0);
    const int64_t passes = (spec.batch_size + setup.micro_batch_size - 1) / setup.micro_batch_size;
    if (layout.pp > 1) {
      EXPECT_GE(passes, layout.pp) << "an empty pipeline";
    }
  }
}

// By day four layers of the model, on smaller cards.
TEST(Recommend, SaysWhatIsShortAndHowManyGpusWouldDo) {
  RlhfSpec spec = plan_of("405b", 8);
  if (!is_at_night()) {
    spec.actor.layers = 4;
    spec.critic = spec.reward = spec.actor;
    spec.card.total_bytes = int64_t{24} << 30;
    spec.num_gpus = 1;
  }
  const Recommendation found = recommend(spec);
  EXPECT_TRUE(found.fitting.empty());
  ASSERT_TRUE(found.nearest);
  EXPECT_LT(found.nearest->margin(), 0);
  ASSERT_GT(found.gpus_that_fit, spec.num_gpus);
  spec.num_gpus = found.gpus_that_fit;
  EXPECT_FALSE(recommend(spec).fitting.empty());
  spec.num_gpus /= 2;
  EXPECT_TRUE(recommend(spec).fitting.empty());
}

TEST(Recommend, GivesUpOnASequenceThatNoGpuHolds) {
  RlhfSpec spec = plan_of("7b", 1);
  spec.card.total_bytes = 1 << 30;
  const Recommendation found = recommend(spec);
  EXPECT_TRUE(found.fitting.empty());
  EXPECT_EQ(found.gpus_that_fit, 0);
}

TEST(Recommend, WithoutAReferenceModelNoneIsRecommended) {
  RlhfSpec spec = plan_of("7b", 4);
  spec.setup.reference = Reference::kNone;
  for (const RlhfSetup& setup : all_setups(spec)) EXPECT_EQ(setup.reference, Reference::kNone);
}

}  // namespace
}  // namespace headroom
