#include "profiling/instant.h"

#include <gtest/gtest.h>

#include "tests/profiling/script.h"

namespace headroom {
namespace {

using Live = std::map<std::string, int64_t>;

const std::vector<std::string> kRolesThere = {"actor", "critic"};

const Scope kTrainingThere = {ScopeKind::kPhase, "training"};
const Scope kOptimizer = {ScopeKind::kPhase, "optimizer"};

InstantBreakdown at(const Script& script, int64_t event) {
  return breakdown_at(script.recording, script.owned, kRolesThere, event);
}

// A failed update: gradients before it, a temporary, two moments, which are tagged only after the
// failure.
Script failed_update() {
  Script script;
  script.before(1, 1000).tag(Category::kParameters, 1, "actor.w");
  script.begin(kTrainingThere).alloc(2, 900).tag(Category::kGradients, 2, "actor.w");
  script.begin(kOptimizer).alloc(3, 400).alloc(4, 300).alloc(5, 350);
  return script;
}

Script unwound(Script script) {
  script.end(kOptimizer).free(4).end(kTrainingThere);
  for (const uint64_t moment : {3, 5}) script.tag(Category::kOptimizerState, moment, "actor.w");
  return script;
}

TEST(InstantBreakdown, IsWhatLivesThenAndNotWhatComesOrWasThere) {
  const Script script = failed_update();
  const int64_t refused = script.now();
  Script after = unwound(script);
  after.alloc(6, 7);
  EXPECT_EQ(at(after, refused).live, (Live{{"actor parameters", 1000},
                                           {"actor gradients", 900},
                                           {"actor optimizer_state", 750},
                                           {"temporaries", 300}}));
}

TEST(InstantBreakdown, WhatGrewIsOfTheInnermostPhaseThatTheFailureUnwindsFrom) {
  const Script script = failed_update();
  EXPECT_EQ(at(unwound(script), script.now()).grew, "actor optimizer_state");
}

TEST(InstantBreakdown, APhaseThatHadEndedIsNotWhereItFailed) {
  Script script;
  script.begin(kTrainingThere).alloc(1, 10).begin(kOptimizer).alloc(2, 5).end(kOptimizer);
  script.free(2).tag(Category::kGradients, 1, "critic.w");
  const int64_t refused = script.now();
  script.end(kTrainingThere);
  EXPECT_EQ(at(script, refused).grew, "critic gradients");
}

TEST(InstantBreakdown, OfNothingIsNothing) {
  const InstantBreakdown found = at(Script(), 0);
  EXPECT_TRUE(found.live.empty());
  EXPECT_EQ(found.grew, "");
}

}  // namespace
}  // namespace headroom
