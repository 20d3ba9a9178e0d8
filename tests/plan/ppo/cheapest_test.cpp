#include "plan/ppo/cheapest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

// A simulated card with a given saving for each technique: an iteration needs 1000, and every
// technique in use reduces it by its own share.
class CheapestTest : public testing::Test {
 protected:
  CheapestTest() {
    base_.shared.model_size = "small";
    base_.shared.prompt_len = base_.shared.response_len = 16;
    base_.shared.temperature = 1;
    base_.shared.device = {.kind = DeviceKind::kVirtual, .card = "h200"};
    techniques_ = {
        {Technique::kSwapPhases, {{"swapped phases", {{"swap_phases", "true"}}}}},
        {Technique::kCheckpoint, {{"checkpoint full", {{"checkpoint", "full"}}}}},
        {Technique::kReferenceOffload, {{"reference offload", {{"reference", "offload"}}}}},
        {Technique::kFusedAttention, {{"fused attention", {{"attention", "sdpa"}}}}}};
  }

  static int64_t need(const PpoRun& run) {
    int64_t bytes = 1000;
    if (run.setup.swap_phases) bytes -= 400;
    if (run.shared.checkpoint.kind != CheckpointKind::kNone) bytes -= 200;
    if (run.setup.reference == ReferencePlace::kOffload) bytes -= 100;
    if (run.shared.attention != Attention::kEager) bytes -= 50;
    // Autocast's casts need more than they save if activations are small.
    if (run.shared.precision == Precision::kBf16) bytes += bytes > 700 ? -30 : 60;
    return bytes;
  }

  // Tries every set, from the cheapest on.
  std::string cheapest_of_all(int64_t capacity) const {
    Levels levels(techniques_.size(), 0);
    for (;;) {
      const std::optional<PpoRun> run = with_techniques(base_, techniques_, levels);
      if (run && need(*run) <= capacity) return in_words(techniques_, levels);
      size_t i = levels.size();
      while (i > 0 && levels[i - 1] == techniques_[i - 1].levels.size()) levels[--i] = 0;
      if (i == 0) return "none";
      ++levels[i - 1];
    }
  }

  PpoFit fit(int64_t capacity) {
    return cheapest_setup(
        base_, techniques_,
        {.capacity = capacity,
         .need = need,
         .fits = [&](const PpoRun& run) { return !pieces_ || need(run) < *pieces_; },
         .run = [&](const PpoRun& run) { return cell(run, capacity); }});
  }

  Record cell(const PpoRun& run, int64_t capacity) {
    ++cells_;
    Record record;
    const bool in_pieces = pieces_ && need(run) >= *pieces_;
    record.status = need(run) + hidden_ <= capacity && !in_pieces ? Status::kOk : Status::kOom;
    if (record.status == Status::kOom) record.reason = "out of memory";
    return record;
  }

  std::string words(const std::optional<PpoSet>& set) const {
    return set ? in_words(techniques_, set->levels) : "none";
  }

  PpoRun base_;
  std::vector<RunTechnique> techniques_;
  int64_t hidden_ = 0;             // the card's need that theory does not include
  std::optional<int64_t> pieces_;  // beyond it free memory is fragmented
  int cells_ = 0;
};

TEST_F(CheapestTest, NothingIsUsedWhereNothingIsNeeded) {
  const PpoFit found = fit(1000);
  EXPECT_EQ(words(found.answer), "nothing");
  EXPECT_EQ(words(found.cheaper), "none");
  EXPECT_EQ(cells_, 1);
}

TEST_F(CheapestTest, TheDearestIsLeftOutWhereTheCheaperOnesDo) {
  const PpoFit found = fit(700);
  EXPECT_EQ(words(found.answer), "checkpoint full, reference offload");
  EXPECT_EQ(words(found.cheaper), "checkpoint full, fused attention") << "it needs 750";
  ASSERT_TRUE(found.cheaper);
  EXPECT_EQ(found.cheaper->need, 750);
}

TEST_F(CheapestTest, TheDearestAloneIsNoReasonToLeaveTheCheaperOnesIn) {
  EXPECT_EQ(words(fit(640).answer), "swapped phases");
}

TEST_F(CheapestTest, ACheapTechniqueThatNeedsMoreCostsNoDearerOne) {
  techniques_.push_back({Technique::kBf16Products, {{"BF16 products", {{"precision", "bf16"}}}}});
  for (int64_t capacity = 240; capacity <= 1000; capacity += 10) {
    EXPECT_EQ(words(fit(capacity).answer), cheapest_of_all(capacity)) << capacity;
  }
}

TEST_F(CheapestTest, WhereTheCardRefusesTheNextIsFound) {
  hidden_ = 20;
  const PpoFit found = fit(700);
  EXPECT_EQ(words(found.answer), "checkpoint full, reference offload, fused attention");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_THAT(found.notes[0], testing::HasSubstr("the card has none: out of memory"));
}

TEST_F(CheapestTest, WhereTheCardRunsWhatTheoryRefusesThatIsTheAnswer) {
  hidden_ = -60;
  const PpoFit found = fit(700);
  EXPECT_EQ(words(found.answer), "checkpoint full, fused attention");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_THAT(found.notes[0], testing::HasSubstr("too large, and the card runs it"));
}

TEST_F(CheapestTest, FreeMemoryInPiecesCounts) {
  pieces_ = 700;
  EXPECT_EQ(words(fit(700).answer), "checkpoint full, reference offload, fused attention");
  EXPECT_EQ(cells_, 2) << "theory knows: it and what is cheaper";
}

TEST_F(CheapestTest, WhereNothingFitsTheSmallestIsRunAndNamed) {
  const PpoFit found = fit(200);
  EXPECT_EQ(words(found.answer), "none");
  EXPECT_EQ(words(found.nearest),
            "swapped phases, checkpoint full, reference offload, fused attention");
  ASSERT_TRUE(found.nearest);
  EXPECT_EQ(found.nearest->need, 250);
  EXPECT_EQ(found.nearest->record->status, Status::kOom);
}

TEST_F(CheapestTest, TechniquesThatExcludeEachOtherAreTakenOneByOne) {
  techniques_.insert(techniques_.begin() + 1,
                     {Technique::kOtherOptimizer, {{"no reference", {{"reference", "none"}}}}});
  EXPECT_EQ(words(fit(250).answer),
            "swapped phases, checkpoint full, reference offload, fused attention");
}

TEST(PpoTechniques, AreThoseOfAnIterationDearestFirstWithoutWhatWasTyped) {
  PpoRun base;
  base.shared.model_size = "small";
  base.shared.batch_size = 8;
  base.shared.prompt_len = base.shared.response_len = 16;
  const std::vector<RunTechnique> found = ppo_techniques(base, CostOrder(), {"optimizer", "card"});
  std::vector<Technique> kinds;
  for (const RunTechnique& one : found) kinds.push_back(one.technique);
  EXPECT_THAT(kinds, testing::Contains(Technique::kSwapPhases));
  EXPECT_THAT(kinds, testing::Contains(Technique::kMicroBatches));
  EXPECT_THAT(kinds, testing::Not(testing::Contains(Technique::kOptimizer8Bit))) << "it was typed";
  EXPECT_TRUE(std::is_sorted(kinds.begin(), kinds.end()))
      << "the enumeration is the order of costs";
  const auto budgets = std::find_if(found.begin(), found.end(), [](const RunTechnique& one) {
    return one.technique == Technique::kMicroBatches;
  });
  ASSERT_EQ(budgets->levels.size(), 3U);
  EXPECT_EQ(budgets->levels[0].name, "128 tokens a micro-batch");
  EXPECT_EQ(budgets->levels[2].name, "32 tokens a micro-batch");
}

}  // namespace
}  // namespace headroom
