#include "profiling/attribution.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/profiling/script.h"

namespace headroom {
namespace {

const Scope kForward = {ScopeKind::kSaving, "forward"};
const Scope kLoss = {ScopeKind::kSaving, "loss"};
const Scope kBackward = {ScopeKind::kBackward, "backward"};
const Scope kInference = {ScopeKind::kPhase, "forward"};

Attribution attributed(const Script& script) {
  const Attribution result = attribute(script.recording, script.owned);
  const int64_t sum =
      std::accumulate(result.categories.begin(), result.categories.end(), int64_t{0},
                      [](int64_t total, const auto& category) { return total + category.second; });
  EXPECT_EQ(sum, result.peak_bytes);
  EXPECT_EQ(result.categories.size(), 8U) << "zeros are listed too";
  return result;
}

TEST(Attribution, AnEmptyRecordingHoldsNothing) {
  const Attribution result = attributed(Script());
  EXPECT_EQ(result.peak_bytes, 0);
  EXPECT_TRUE(result.blocks.empty());
}

TEST(Attribution, EveryCategoryAtTheHighestInstant) {
  const Attribution result = attributed(Script()
                                            .before(1, 100)  // a parameter
                                            .before(2, 7)    // the batch
                                            .tag(Category::kParameters, 1)
                                            .begin(kForward)
                                            .alloc(10, 50)
                                            .tag(Category::kCastCache, 10)
                                            .alloc(11, 1000)
                                            .alloc(12, 30)
                                            .free(11)
                                            .end(kForward)
                                            .begin(kBackward)
                                            .alloc(13, 5000)
                                            .alloc(14, 100)
                                            .free(13)
                                            .free(12)
                                            .end(kBackward)
                                            .tag(Category::kGradients, 14)
                                            .alloc(15, 60)
                                            .tag(Category::kOptimizerState, 15)
                                            .free(14));
  EXPECT_EQ(result.peak_bytes, 100 + 7 + 50 + 30 + 5000 + 100);
  EXPECT_EQ(result.categories.at("parameters"), 100);
  EXPECT_EQ(result.categories.at("other"), 7);
  EXPECT_EQ(result.categories.at("cast_cache"), 50);
  EXPECT_EQ(result.categories.at("activations"), 30);
  EXPECT_EQ(result.categories.at("temporaries"), 5000);
  EXPECT_EQ(result.categories.at("gradients"), 100) << "tagged later, while it lived";
  EXPECT_EQ(result.categories.at("optimizer_state"), 0) << "made after the peak";
  EXPECT_EQ(result.activation_bytes, 30);
  EXPECT_EQ(result.cast_cache_bytes, 50);
}

TEST(Attribution, AnAddressUsedAgainIsAnotherBlock) {
  Script script;
  script.begin(kForward)
      .alloc(5, 10)  // a temporary of the forward
      .free(5)
      .alloc(5, 400)  // an activation at the same address
      .end(kForward)
      .begin(kBackward)
      .free(5)
      .alloc(5, 300)  // a gradient, again at this address
      .alloc(6, 200)
      .end(kBackward)
      .tag(Category::kGradients, 5);
  const Attribution result = attributed(script);
  EXPECT_EQ(result.peak_bytes, 500);
  EXPECT_EQ(result.categories.at("gradients"), 300);
  EXPECT_EQ(result.categories.at("temporaries"), 200);
  EXPECT_EQ(result.categories.at("activations"), 0);
  EXPECT_EQ(result.activation_bytes, 400);
}

TEST(Attribution, ABlockThatLivedBeforeAndItsSuccessorAreTwo) {
  Script script;
  script.before(5, 64).tag(Category::kOptimizerState, 5);
  script.free(5).alloc(5, 100);
  const Attribution result = attributed(script);
  EXPECT_EQ(result.categories.at("optimizer_state"), 0);
  EXPECT_EQ(result.categories.at("temporaries"), 100);
}

TEST(Attribution, ATagOfWhatIsNotLiveThenIsNobodys) {
  Script script;
  script.tag(Category::kGradients, 5).alloc(5, 100).tag(Category::kWorkspaces, 99);
  EXPECT_EQ(attributed(script).categories.at("temporaries"), 100);
}

TEST(Attribution, WithoutAGraphNothingIsSaved) {
  Script script;
  const Scope block = Scope::block(0);
  script.begin(kInference).begin(block).alloc(1, 10).alloc(2, 20).tag(Category::kCastCache, 2);
  script.end(block).end(kInference).free(1);
  const Attribution result = attributed(script);
  EXPECT_EQ(result.categories.at("activations"), 0);
  EXPECT_EQ(result.categories.at("temporaries"), 10);
  EXPECT_EQ(result.categories.at("cast_cache"), 20);
  EXPECT_TRUE(result.blocks.empty());
}

// A step without a loss saves the live bytes at the end of forward; one with a backward those at
// its beginning, including the loss's own tensors.
TEST(Attribution, SavedIsWhatLivesWhenBackwardBegins) {
  Script script;
  script.begin(kForward).alloc(1, 10).alloc(2, 20).end(kForward);
  EXPECT_EQ(attributed(script).activation_bytes, 30);
  script.begin(kLoss).alloc(3, 40).free(2).alloc(4, 5).end(kLoss).free(4);
  script.begin(kBackward).alloc(5, 1000);
  EXPECT_EQ(attributed(script).activation_bytes, 50);
}

TEST(Attribution, EachBlockKeepsWhatItMadeAndWhatOutlivesIt) {
  Script script;
  script.begin(kForward).alloc(1, 1000);  // the embedding's output
  script.begin(Scope::block(0)).alloc(2, 10).alloc(3, 20).alloc(4, 8).free(2);
  script.tag(Category::kCastCache, 4).end(Scope::block(0));
  script.begin(Scope::block(1)).alloc(2, 7).alloc(5, 30).alloc(6, 40).end(Scope::block(1));
  script.alloc(7, 500).free(6).end(kForward);
  script.begin(kBackward).free(3).free(5).end(kBackward);
  const Attribution result = attributed(script);
  ASSERT_EQ(result.blocks.size(), 2U);
  EXPECT_EQ(result.blocks[0].index, 0);
  EXPECT_EQ(result.blocks[0].bytes, 20);
  EXPECT_EQ(result.blocks[0].tensors, 1);
  EXPECT_EQ(result.blocks[1].index, 1);
  EXPECT_EQ(result.blocks[1].bytes, 37);
  EXPECT_EQ(result.blocks[1].tensors, 2);
  EXPECT_EQ(result.activation_bytes, 1000 + 20 + 37 + 500);
  EXPECT_EQ(result.cast_cache_bytes, 8);
}

// A recomputation is temporary; the largest one is reported, at its end.
TEST(Attribution, WhatIsComputedAgainIsSavedForNobodyAndCountedWhenItEnds) {
  const Scope again = {ScopeKind::kRecompute, "recompute"};
  const Scope block = Scope::block(0);
  Script script;
  script.begin(kForward).begin(block).alloc(1, 10).end(block).end(kForward);
  script.begin(kBackward).begin(again).begin(block);
  script.alloc(2, 500).alloc(3, 40).alloc(4, 7).tag(Category::kCastCache, 4).free(2);
  script.end(block).end(again).alloc(5, 3000).free(3).free(5);
  script.begin(again).alloc(6, 30).end(again).free(6).free(1).end(kBackward);
  const Attribution result = attributed(script);
  EXPECT_EQ(result.recomputed_bytes, 40);
  EXPECT_EQ(result.activation_bytes, 10);
  ASSERT_EQ(result.blocks.size(), 1U);
  EXPECT_EQ(result.blocks[0].bytes, 10);
  EXPECT_EQ(result.category_peaks.at("activations"), 10);
  EXPECT_EQ(result.category_peaks.at("cast_cache"), 7);
}

// Passes may differ: accumulation with a shorter last one, an actor and its critic.
TEST(Attribution, OfSeveralPassesTheOneThatSavesMostIsReported) {
  const Scope block = Scope::block(0);
  for (const auto& sizes : {std::pair(11, 22), std::pair(22, 11)}) {
    Script script;
    for (const int64_t size : {sizes.first, sizes.second}) {
      script.begin(kForward).begin(block).alloc(1, size).end(block).end(kForward);
      script.begin(kBackward).free(1).end(kBackward);
    }
    const Attribution result = attributed(script);
    ASSERT_EQ(result.blocks.size(), 1U);
    EXPECT_EQ(result.blocks[0].bytes, 22);
    EXPECT_EQ(result.activation_bytes, 22);
    EXPECT_EQ(result.peak_bytes, 22);
    EXPECT_EQ(result.categories.at("activations"), 22);
  }
}

TEST(Attribution, SeveralForwardsMayWaitForOneBackward) {
  const Scope block = Scope::block(0);
  Script script;
  script.begin(kForward).begin(block).alloc(1, 10).end(block).end(kForward);
  script.begin(kForward).begin(block).alloc(2, 30).end(block).alloc(3, 5).end(kForward);
  script.begin(kBackward).free(1).free(2).free(3).end(kBackward);
  const Attribution result = attributed(script);
  EXPECT_EQ(result.activation_bytes, 45);
  EXPECT_EQ(result.categories.at("activations"), 45);
  ASSERT_EQ(result.blocks.size(), 1U) << "of the last forward";
  EXPECT_EQ(result.blocks[0].bytes, 30);
}

// A forward begins before the previous one's backward: both are saved when that begins, and later
// allocations belong to the next.
TEST(Attribution, ForwardsAndBackwardsMayInterleave) {
  Script script;
  script.begin(kForward).alloc(1, 10).end(kForward);
  script.begin(kForward).alloc(2, 20).end(kForward);
  script.begin(kBackward).free(1).end(kBackward);
  script.begin(kForward).alloc(3, 40).end(kForward);
  script.begin(kBackward).free(2).end(kBackward);
  script.begin(kBackward).free(3).end(kBackward);
  const Attribution result = attributed(script);
  EXPECT_EQ(result.category_peaks.at("activations"), 60);
  EXPECT_EQ(result.category_peaks.at("temporaries"), 0);
  EXPECT_EQ(result.activation_bytes, 60);
}

TEST(Attribution, WhatABackwardRecomputesIsTemporary) {
  const Scope block = Scope::block(0);
  Script script;
  script.begin(kForward).begin(block).alloc(1, 10).alloc(2, 100).free(2).end(block).end(kForward);
  script.begin(kBackward);
  script.begin(kForward).begin(block).alloc(3, 100).end(block).end(kForward);  // again
  script.free(3).free(1).end(kBackward);
  script.begin(kForward).alloc(4, 1).end(kForward).begin(kBackward).free(4).end(kBackward);
  const Attribution result = attributed(script);
  EXPECT_EQ(result.categories.at("activations"), 10);
  EXPECT_EQ(result.categories.at("temporaries"), 100);
  ASSERT_EQ(result.blocks.size(), 1U);
  EXPECT_EQ(result.blocks[0].bytes, 10);
}

// A reference model scores between an actor's forward and backward, or inside the forward.
TEST(Attribution, APassWithoutGradientsInTheMidstSavesNothing) {
  const Scope scoring = {ScopeKind::kPhase, "scoring"};
  Script script;
  script.begin(kForward).alloc(1, 10);
  script.begin(scoring).begin(Scope::block(0)).alloc(2, 500).end(Scope::block(0)).end(scoring);
  script.alloc(3, 20).end(kForward);
  script.begin(scoring).alloc(4, 70).end(scoring);  // its result outlives the backward
  script.begin(kBackward).free(1).free(3).end(kBackward);
  const Attribution result = attributed(script);
  EXPECT_EQ(result.activation_bytes, 30);
  EXPECT_EQ(result.categories.at("activations"), 30);
  EXPECT_EQ(result.categories.at("temporaries"), 570);
  EXPECT_TRUE(result.blocks.empty());
}

TEST(Attribution, TheLaterOfTwoTagsHolds) {
  Script script;
  script.alloc(1, 10).tag(Category::kOther, 1).tag(Category::kGradients, 1);
  EXPECT_EQ(attributed(script).categories.at("gradients"), 10);
}

TEST(Attribution, FreesOfUnknownBlocksChangeNothing) {
  Script script;
  script.free(77).alloc(1, 10).free(78);
  EXPECT_EQ(attributed(script).peak_bytes, 10);
}

TEST(Attribution, EveryCategoryHasAName) {
  EXPECT_EQ(to_string(Category::kParameters), "parameters");
  EXPECT_EQ(to_string(Category::kOptimizerState), "optimizer_state");
  EXPECT_EQ(to_string(Category::kOther), "other");
}

}  // namespace
}  // namespace headroom
