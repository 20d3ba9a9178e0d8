// Recordings written by hand: addresses are small numbers, time is the number of the event.
#include "profiling/phase_breakdown.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

using Components = std::map<std::string, int64_t>;

const Scope kGeneration = {ScopeKind::kPhase, "generation"};
const Scope kDecode = {ScopeKind::kPhase, "decode"};
const Scope kTraining = {ScopeKind::kPhase, "training"};
const std::vector<std::string> kRoles = {"actor", "critic"};

struct Script {
  int64_t now() const { return static_cast<int64_t>(recording.events.size()); }
  Script& alloc(uint64_t address, int64_t size) {
    recording.events.push_back({TraceAction::kAlloc, address, size});
    return *this;
  }
  Script& free(uint64_t address) {
    recording.events.push_back({TraceAction::kFreeCompleted, address, 0});
    return *this;
  }
  Script& begin(const Scope& scope) { return mark(scope, true); }
  Script& end(const Scope& scope) { return mark(scope, false); }
  Script& mark(const Scope& scope, bool begins) {
    recording.marks.push_back({scope, begins, now()});
    return *this;
  }
  Script& claim(Category category, uint64_t address, const std::string& name) {
    owned.push_back({category, address, now(), name});
    return *this;
  }
  std::vector<PhaseBreakdown> breakdowns() const {
    return phase_breakdowns(recording, owned, kRoles);
  }

  Recording recording;
  std::vector<Owned> owned;
};

TEST(PhaseBreakdown, EachPhaseHasItsOwnFullestInstantAndWhatLivedBeforeIt) {
  Script script;
  script.recording.live_at_start.push_back({1, 100});
  script.claim(Category::kParameters, 1, "actor.w").claim(Category::kParameters, 1, "actor.w");
  script.begin(kGeneration).alloc(2, 50).alloc(3, 7).free(3).free(2).end(kGeneration);
  script.alloc(4, 1000).free(4);  // between the phases: of none
  script.begin(kTraining).alloc(5, 30).claim(Category::kGradients, 5, "critic.w").free(5);
  script.end(kTraining);
  const auto found = script.breakdowns();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].phase, "generation");
  EXPECT_EQ(found[0].peak_bytes, 157);
  EXPECT_EQ(found[0].components, (Components{{"actor parameters", 100}, {"temporaries", 57}}));
  EXPECT_EQ(found[1].phase, "training");
  EXPECT_EQ(found[1].peak_bytes, 130);
  EXPECT_EQ(found[1].components, (Components{{"actor parameters", 100}, {"critic gradients", 30}}));
}

TEST(PhaseBreakdown, AnInnerPhaseCountsForTheOuterOne) {
  Script script;
  script.begin(kGeneration).alloc(1, 10).begin(kDecode).alloc(2, 20).free(2).end(kDecode);
  script.free(1).end(kGeneration);
  const auto found = script.breakdowns();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].peak_bytes, 30);
}

TEST(PhaseBreakdown, OfSeveralRunsTheFullestIsKept) {
  Script script;
  for (const int64_t size : {10, 40, 20}) {
    script.begin(kTraining).alloc(1, size).free(1).end(kTraining);
  }
  const auto found = script.breakdowns();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].peak_bytes, 40);
}

TEST(PhaseBreakdown, ANameThatIsNoRolesHasItsCategoryOnly) {
  Script script;
  script.begin(kTraining).alloc(1, 4).claim(Category::kOther, 1, "tokens");
  script.alloc(2, 8).claim(Category::kOther, 2, "actor").alloc(3, 16);
  script.claim(Category::kOther, 3, "layers.0").end(kTraining);
  EXPECT_EQ(script.breakdowns().front().components, (Components{{"other", 28}}));
}

TEST(PhaseBreakdown, WhatThePhaseFindsIsItsPeakWhereItOnlyFrees) {
  Script script;
  script.alloc(1, 64).begin(kTraining).free(1).alloc(2, 8).end(kTraining);
  EXPECT_EQ(script.breakdowns().front().peak_bytes, 64);
}

}  // namespace
}  // namespace headroom
