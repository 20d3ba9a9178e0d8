#include "plan/rlhf/transitions.h"

#include <gtest/gtest.h>

#include "tests/plan/rlhf/small_plan.h"

namespace headroom {
namespace {

constexpr int64_t kMovedActor = 2536;
constexpr int64_t kMovedCritic = 2464;

TEST(Transitions, WithoutSwappingOnlyFreeWhatDiesWithItsPhase) {
  const RlhfSpec spec = small_plan();
  for (const Transition& transition : transitions(spec, memory_of(spec), false)) {
    EXPECT_EQ(transition.to_host, 0) << transition.name;
    EXPECT_EQ(transition.from_host, 0) << transition.name;
    EXPECT_GT(transition.freed, 0) << transition.name;
    EXPECT_EQ(transition.seconds, 0) << transition.name;
  }
}

TEST(Transitions, SwappingLoadsWhatIsNeededAndWritesBackWhatWasTrained) {
  const RlhfSpec spec = small_plan();
  const RankMemory memory = memory_of(spec);
  const std::vector<Transition> all = transitions(spec, memory, true);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].name, "generation -> scoring");
  EXPECT_EQ(all[0].from_host, 2 * kMovedActor + 2 * 2 * kMovedCritic)
      << "reference, critic, reward";
  EXPECT_EQ(all[0].to_host, 0);
  EXPECT_EQ(all[1].from_host, 12 * (kMovedActor + kMovedCritic)) << "the optimizers";
  EXPECT_EQ(all[1].to_host, 0) << "what was only read has its copy on the host";
  EXPECT_EQ(all[2].name, "training -> generation");
  EXPECT_EQ(all[2].to_host, 12 * (kMovedActor + kMovedCritic) + 2 * kMovedCritic);
  EXPECT_EQ(all[2].from_host, 0) << "the actor has stayed";
  EXPECT_DOUBLE_EQ(all[2].seconds, static_cast<double>(all[2].to_host) /
                                       static_cast<double>(spec.card.host_bandwidth));
}

// Bytes after = bytes before - removed + moved in + created.
TEST(Transitions, AccountForEveryByteOfBothPhases) {
  const RlhfSpec spec = small_plan();
  const RankMemory memory = memory_of(spec);
  const std::vector<Transition> all = transitions(spec, memory, true);
  for (size_t i = 0; i < all.size(); ++i) {
    const RlhfPhase from = kRlhfPhases.at(i);
    const RlhfPhase to = kRlhfPhases.at((i + 1) % kRlhfPhases.size());
    int64_t made = 0;
    for (const Component& component : memory.components) {
      const bool fresh = component.needed_in(to) && !component.needed_in(from);
      if (fresh && !component.resident) made += component.bytes;
    }
    EXPECT_EQ(
        memory.phase_bytes(from, true) - all[i].freed - all[i].to_host + all[i].from_host + made,
        memory.phase_bytes(to, true))
        << all[i].name;
  }
}

TEST(Transitions, AnOffloadedOptimizerMovesGradientsAndWeightsEachStep) {
  RlhfSpec spec = small_plan();
  spec.setup.optimizer_space = MemorySpace::kHost;
  spec.setup.reference = Reference::kOffload;
  const std::vector<Transition> within =
      traffic_within_phases(spec, RlhfModels(spec), memory_of(spec));
  ASSERT_EQ(within.size(), 2U);
  EXPECT_EQ(within[0].from_host, 2 * kMovedActor) << "the reference, once";
  EXPECT_EQ(within[1].to_host, 2 * (kMovedActor + kMovedCritic));
  EXPECT_EQ(within[1].from_host, 2 * (kMovedActor + kMovedCritic));
}

TEST(Transitions, AreNoneWithOnePhase) {
  RlhfSpec spec = small_plan();
  spec.critic.reset();
  spec.reward.reset();
  spec.setup.reference = Reference::kNone;
  spec.response_len = 0;
  EXPECT_TRUE(transitions(spec, memory_of(spec), true).empty());
}

}  // namespace
}  // namespace headroom
