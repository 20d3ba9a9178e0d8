// Recordings written by hand: addresses are small numbers, time is the number of the event.
#include "profiling/attribution.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headroom {
namespace {

// Builds a recording event by event.
struct Script {
  int64_t now() const { return static_cast<int64_t>(recording.events.size()); }
  Script& before(uint64_t address, int64_t size) {
    recording.live_at_start.push_back({address, size});
    return *this;
  }
  Script& alloc(uint64_t address, int64_t size, Hint hint = Hint::kNone) {
    recording.events.push_back({{TraceAction::kAlloc, address, size}, hint});
    return *this;
  }
  Script& free(uint64_t address) {
    recording.events.push_back({{TraceAction::kFreeRequested, address, 0}});
    recording.events.push_back({{TraceAction::kFreeCompleted, address, 0}});
    return *this;
  }
  Script& begin(const std::string& name) { return mark(name, true); }
  Script& end(const std::string& name) { return mark(name, false); }
  Script& mark(const std::string& name, bool is_start) {
    recording.marks.push_back({name, is_start, now()});
    return *this;
  }
  Script& claim(Category category, uint64_t address) {
    owned.push_back({category, address, now()});
    return *this;
  }
  Attribution attribute(bool keeps_activations = true) const {
    const Attribution result = headroom::attribute(recording, owned, keeps_activations);
    const int64_t sum = std::accumulate(
        result.categories.begin(), result.categories.end(), int64_t{0},
        [](int64_t total, const auto& category) { return total + category.second; });
    EXPECT_EQ(sum, result.peak_bytes);
    EXPECT_EQ(result.categories.size(), 8U) << "zeros are listed too";
    return result;
  }

  Recording recording;
  std::vector<Owned> owned;
};

TEST(Attribution, AnEmptyRecordingHoldsNothing) {
  const Attribution result = Script().attribute();
  EXPECT_EQ(result.peak_bytes, 0);
  EXPECT_TRUE(result.blocks.empty());
}

TEST(Attribution, EveryCategoryAtTheHighestInstant) {
  const Attribution result = Script()
                                 .before(1, 100)  // a parameter
                                 .before(2, 7)    // the batch
                                 .claim(Category::kParameters, 1)
                                 .begin("forward")
                                 .alloc(10, 50, Hint::kCastOfParameter)
                                 .alloc(11, 1000)
                                 .alloc(12, 30)
                                 .free(11)
                                 .end("forward")
                                 .begin("backward")
                                 .alloc(13, 5000)
                                 .alloc(14, 100)
                                 .free(13)
                                 .free(12)
                                 .end("backward")
                                 .claim(Category::kGradients, 14)
                                 .alloc(15, 60)
                                 .claim(Category::kOptimizerState, 15)
                                 .free(14)
                                 .attribute();
  EXPECT_EQ(result.peak_bytes, 100 + 7 + 50 + 30 + 5000 + 100);
  EXPECT_EQ(result.categories.at("parameters"), 100);
  EXPECT_EQ(result.categories.at("other"), 7);
  EXPECT_EQ(result.categories.at("cast_cache"), 50);
  EXPECT_EQ(result.categories.at("activations"), 30);
  EXPECT_EQ(result.categories.at("temporaries"), 5000);
  EXPECT_EQ(result.categories.at("gradients"), 100) << "claimed later, while it lived";
  EXPECT_EQ(result.categories.at("optimizer_state"), 0) << "made after the peak";
  EXPECT_EQ(result.activation_bytes, 30);
  EXPECT_EQ(result.cast_cache_bytes, 50);
}

TEST(Attribution, AnAddressUsedAgainIsAnotherBlock) {
  Script script;
  script.begin("forward")
      .alloc(5, 10)  // a temporary of the forward
      .free(5)
      .alloc(5, 400)  // an activation at the same address
      .end("forward")
      .begin("backward")
      .free(5)
      .alloc(5, 300)  // a gradient, again there
      .alloc(6, 200)
      .end("backward")
      .claim(Category::kGradients, 5);
  const Attribution result = script.attribute();
  EXPECT_EQ(result.peak_bytes, 500);
  EXPECT_EQ(result.categories.at("gradients"), 300);
  EXPECT_EQ(result.categories.at("temporaries"), 200);
  EXPECT_EQ(result.categories.at("activations"), 0);
  EXPECT_EQ(result.activation_bytes, 400);
}

TEST(Attribution, ABlockThatLivedBeforeAndItsSuccessorAreTwo) {
  Script script;
  script.before(5, 64).claim(Category::kOptimizerState, 5);
  script.free(5).alloc(5, 100);
  const Attribution result = script.attribute();
  EXPECT_EQ(result.categories.at("optimizer_state"), 0);
  EXPECT_EQ(result.categories.at("temporaries"), 100);
}

TEST(Attribution, AClaimOfWhatIsNotLiveThenIsNobodys) {
  Script script;
  script.claim(Category::kGradients, 5).alloc(5, 100).claim(Category::kWorkspaces, 99);
  EXPECT_EQ(script.attribute().categories.at("temporaries"), 100);
}

TEST(Attribution, WithoutAGraphNothingIsSaved) {
  Script script;
  script.begin("forward").begin("block").alloc(1, 10).alloc(2, 20, Hint::kCastOfParameter);
  script.end("block").end("forward").free(1);
  const Attribution result = script.attribute(/*keeps_activations=*/false);
  EXPECT_EQ(result.categories.at("activations"), 0);
  EXPECT_EQ(result.categories.at("temporaries"), 10);
  EXPECT_EQ(result.categories.at("cast_cache"), 20);
  EXPECT_TRUE(result.blocks.empty());
  EXPECT_EQ(script.attribute(true).categories.at("activations"), 10);
}

// A step without a loss saves what lives when forward ends; one with a backward, what lives when
// that begins, the loss's own tensors with it.
TEST(Attribution, SavedIsWhatLivesWhenBackwardBegins) {
  Script script;
  script.begin("forward").alloc(1, 10).alloc(2, 20).end("forward");
  EXPECT_EQ(script.attribute().activation_bytes, 30);
  script.begin("loss").alloc(3, 40).free(2).alloc(4, 5).end("loss").free(4);
  script.begin("backward").alloc(5, 1000);
  EXPECT_EQ(script.attribute().activation_bytes, 50);
}

TEST(Attribution, EachBlockKeepsWhatItMadeAndWhatOutlivesIt) {
  Script script;
  script.begin("forward").alloc(1, 1000);  // the embedding's output
  script.begin("block").alloc(2, 10).alloc(3, 20).alloc(4, 8, Hint::kCastOfParameter).free(2);
  script.end("block");
  script.begin("block").alloc(2, 7).alloc(5, 30).alloc(6, 40).end("block");
  script.alloc(7, 500).free(6).end("forward");
  script.begin("backward").free(3).free(5).end("backward");
  const Attribution result = script.attribute();
  ASSERT_EQ(result.blocks.size(), 2U);
  EXPECT_EQ(result.blocks[0].bytes, 20);
  EXPECT_EQ(result.blocks[0].tensors, 1);
  EXPECT_EQ(result.blocks[1].bytes, 37);
  EXPECT_EQ(result.blocks[1].tensors, 2);
  EXPECT_EQ(result.activation_bytes, 1000 + 20 + 37 + 500);
  EXPECT_EQ(result.cast_cache_bytes, 8);
}

TEST(Attribution, BlocksAreThoseOfTheLastOfSeveralSteps) {
  Script script;
  for (const int64_t size : {11, 22}) {
    script.begin("forward").begin("block").alloc(1, size).end("block").end("forward");
    script.begin("backward").free(1).end("backward");
  }
  const Attribution result = script.attribute();
  ASSERT_EQ(result.blocks.size(), 1U);
  EXPECT_EQ(result.blocks[0].bytes, 22);
  EXPECT_EQ(result.activation_bytes, 22);
  EXPECT_EQ(result.peak_bytes, 22);
  EXPECT_EQ(result.categories.at("activations"), 22);
}

TEST(Attribution, FreesOfUnknownBlocksChangeNothing) {
  Script script;
  script.free(77).alloc(1, 10).free(78);
  EXPECT_EQ(script.attribute().peak_bytes, 10);
}

TEST(Attribution, EveryCategoryHasAName) {
  EXPECT_EQ(to_string(Category::kParameters), "parameters");
  EXPECT_EQ(to_string(Category::kOptimizerState), "optimizer_state");
  EXPECT_EQ(to_string(Category::kOther), "other");
}

}  // namespace
}  // namespace headroom
