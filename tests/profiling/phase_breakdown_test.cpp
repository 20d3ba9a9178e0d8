#include "profiling/phase_breakdown.h"

#include <gtest/gtest.h>

#include "tests/profiling/script.h"

namespace headroom {
namespace {

using Components = std::map<std::string, int64_t>;

const Scope kGeneration = {ScopeKind::kPhase, "generation"};
const Scope kDecode = {ScopeKind::kPhase, "decode"};
const Scope kTraining = {ScopeKind::kPhase, "training"};
const std::vector<std::string> kRoles = {"actor", "critic"};

std::vector<PhaseComponents> breakdowns(const Script& script) {
  return phase_breakdowns(script.recording, script.owned, kRoles);
}

TEST(PhaseBreakdown, EachPhaseHasItsOwnFullestInstantAndWhatLivedBeforeIt) {
  Script script;
  script.before(1, 100);
  script.tag(Category::kParameters, 1, "actor.w").tag(Category::kParameters, 1, "actor.w");
  script.begin(kGeneration).alloc(2, 50).alloc(3, 7).free(3).free(2).end(kGeneration);
  script.alloc(4, 1000).free(4);  // between the phases: in none
  script.begin(kTraining).alloc(5, 30).tag(Category::kGradients, 5, "critic.w").free(5);
  script.end(kTraining);
  const auto found = breakdowns(script);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].phase, "generation");
  EXPECT_EQ(found[0].requested, 157);
  EXPECT_EQ(found[0].components, (Components{{"actor parameters", 100}, {"temporaries", 57}}));
  EXPECT_EQ(found[1].phase, "training");
  EXPECT_EQ(found[1].requested, 130);
  EXPECT_EQ(found[1].components, (Components{{"actor parameters", 100}, {"critic gradients", 30}}));
}

TEST(PhaseBreakdown, AnInnerPhaseCountsForTheOuterOne) {
  Script script;
  script.begin(kGeneration).alloc(1, 10).begin(kDecode).alloc(2, 20).free(2).end(kDecode);
  script.free(1).end(kGeneration);
  const auto found = breakdowns(script);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].requested, 30);
}

TEST(PhaseBreakdown, OfSeveralRunsTheFullestIsKept) {
  Script script;
  for (const int64_t size : {10, 40, 20}) {
    script.begin(kTraining).alloc(1, size).free(1).end(kTraining);
  }
  const auto found = breakdowns(script);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].requested, 40);
}

TEST(PhaseBreakdown, ANameThatIsNoRolesHasItsCategoryOnly) {
  Script script;
  script.begin(kTraining).alloc(1, 4).tag(Category::kOther, 1, "tokens");
  script.alloc(2, 8).tag(Category::kOther, 2, "actor").alloc(3, 16);
  script.tag(Category::kOther, 3, "layers.0").end(kTraining);
  EXPECT_EQ(breakdowns(script).front().components, (Components{{"other", 28}}));
}

TEST(PhaseBreakdown, WhatThePhaseFindsIsItsPeakWhereItOnlyFrees) {
  Script script;
  script.alloc(1, 64).begin(kTraining).free(1).alloc(2, 8).end(kTraining);
  EXPECT_EQ(breakdowns(script).front().requested, 64);
}

TEST(PhaseBreakdown, TheInstantsFollowThePhaseAndTheHighestIsItsPeak) {
  Script script;
  script.before(100, 7).begin(kTraining);
  for (uint64_t address = 1; address <= 2 * kInstants; ++address) script.alloc(address, 10);
  for (uint64_t address = 1; address <= 2 * kInstants; ++address) script.free(address);
  script.end(kTraining);
  const PhaseComponents run = breakdowns(script).front();
  ASSERT_EQ(run.instants.at("temporaries").size(), kInstants);
  EXPECT_EQ(run.instants.at("other"), std::vector<int64_t>(kInstants, 7));
  const std::vector<int64_t>& live = run.instants.at("temporaries");
  // An allocation is one event, a release two: six events to each share.
  EXPECT_EQ(live[0], 60);
  EXPECT_EQ(live[1], 120);
  EXPECT_EQ(live[kInstants / 3 - 1], 960);  // all of them
  EXPECT_EQ(live.back(), 30);               // the last three as that share begins
  EXPECT_EQ(run.requested, 967);
}

}  // namespace
}  // namespace headroom
