#include "bench/dryrun/breakdown/ledger.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

constexpr uint32_t kModule = 1;
constexpr uint32_t kOwner = 2;
constexpr uint32_t kSeveral = 3;
constexpr uint64_t kRunning = 7;  // a call that has not returned

bool is_over(uint64_t call) { return call != kRunning; }

class LedgerTest : public testing::Test {
 protected:
  void allocate(uintptr_t address, int64_t bytes, const Origin& origin, int64_t requested = 0) {
    ledger_.allocate(address, bytes, requested == 0 ? bytes : requested, origin, now_);
    total_ += bytes;
    ledger_.set_totals(total_, 10 * total_, now_);
  }
  void release(uintptr_t address, int64_t bytes) {
    ledger_.release(address, now_);
    total_ -= bytes;
    ledger_.set_totals(total_, 10 * total_, now_);
  }
  void begin_backward() {
    now_.in_backward = true;
    ++now_.backwards;
  }
  int64_t at_peak(Category category) const {
    return by_category(ledger_.peak())[static_cast<size_t>(category)];
  }

  Ledger ledger_{is_over};
  Moment now_;
  int64_t total_ = 0;
  const Origin forward_{.phase = Phase::kForward, .has_grad_mode = true, .module = kModule};
};

TEST_F(LedgerTest, WhatBackwardFreesIsAnActivationAndWhatForwardFreesATemporary) {
  allocate(1000, 512, forward_);
  allocate(2000, 1024, forward_);
  release(2000, 1024);
  begin_backward();
  release(1000, 512);
  now_.in_backward = false;
  ledger_.finish(now_);
  EXPECT_EQ(ledger_.peak().allocated, 1536);
  EXPECT_EQ(at_peak(Category::kActivations), 512);
  EXPECT_EQ(at_peak(Category::kTemporaries), 1024);
}

TEST_F(LedgerTest, AnOutputThatTheProgramHoldsThroughBackwardIsAnActivation) {
  allocate(1000, 512, forward_);
  begin_backward();
  now_.in_backward = false;
  ledger_.finish(now_);
  EXPECT_EQ(at_peak(Category::kActivations), 512);
}

TEST_F(LedgerTest, AGradientIsNamedAfterThePeak) {
  begin_backward();
  allocate(1000, 512, {.phase = Phase::kBackward});
  allocate(2000, 512, {.phase = Phase::kBackward});
  release(2000, 512);
  ledger_.tag(1000, Category::kGradients, kOwner, kSeveral);
  now_.in_backward = false;
  ledger_.end_step(kOwner, now_);
  EXPECT_EQ(at_peak(Category::kGradients), 512);
  EXPECT_EQ(at_peak(Category::kTemporaries), 512);
}

TEST_F(LedgerTest, AnAddressInsideABlockNamesItAndOneBeyondItDoesNot) {
  allocate(1000, 512, {});
  ledger_.tag(1512, Category::kParameters, kOwner, kSeveral);
  ledger_.tag(999, Category::kParameters, kOwner, kSeveral);
  EXPECT_EQ(by_category(ledger_.now(now_))[static_cast<size_t>(Category::kProgram)], 512);
  ledger_.tag(1511, Category::kParameters, kOwner, kSeveral);
  ledger_.tag(1000, Category::kBuffers, kOwner, kSeveral);  // the first counts
  ledger_.tag(1000, Category::kParameters, kModule, kSeveral);
  const Instant instant = ledger_.now(now_);
  ASSERT_EQ(instant.rows.size(), 1U);
  EXPECT_EQ(instant.rows.begin()->first.category, Category::kParameters);
  EXPECT_EQ(instant.rows.begin()->first.owner, kSeveral);
}

TEST_F(LedgerTest, ANameOfTheProgramCountsMoreThanATagAndTakesItsOwnerWhereItHasNone) {
  const Origin outside{};
  allocate(1000, 512, outside);
  allocate(2000, 1024, outside);
  ledger_.tag(1000, Category::kBuffers, kModule, kSeveral);
  EXPECT_TRUE(ledger_.name(1000, Category::kCache, kOwner));
  EXPECT_TRUE(ledger_.name(2000, Category::kParameters, 0));
  EXPECT_FALSE(ledger_.name(3024, Category::kParameters, 0));
  ledger_.tag(1000, Category::kCache, kModule, kSeveral);
  ledger_.tag(2000, Category::kParameters, kModule, kSeveral);
  ledger_.finish(now_);
  std::vector<std::pair<Category, uint32_t>> owners;
  for (const auto& [key, sum] : ledger_.peak().rows) owners.emplace_back(key.category, key.owner);
  const std::vector<std::pair<Category, uint32_t>> wanted = {{Category::kParameters, kModule},
                                                             {Category::kCache, kOwner}};
  EXPECT_EQ(owners, wanted);
}

TEST_F(LedgerTest, RoundingIsARowAndTheSumIsTheAllocatedMemory) {
  allocate(1000, 512, forward_, /*requested=*/4);
  allocate(2000, 1024, forward_, /*requested=*/1000);
  const std::vector<int64_t> sums = by_category(ledger_.now(now_));
  EXPECT_EQ(sums[static_cast<size_t>(Category::kRounding)], 508 + 24);
  EXPECT_EQ(sums[static_cast<size_t>(Category::kActivations)], 1004);
}

TEST_F(LedgerTest, MemoryWithoutAnEventIsNotAttributed) {
  ledger_.set_totals(4096, 8192, now_);
  ledger_.finish(now_);
  EXPECT_EQ(at_peak(Category::kNotAttributed), 4096);
  EXPECT_EQ(ledger_.peak().rows.begin()->first.reason, Reason::kNoEvent);
}

TEST_F(LedgerTest, WhereAForwardRunsItsOwnMemoryMayStillBeEither) {
  Origin running = forward_;
  running.call = kRunning;
  allocate(1000, 512, running);
  allocate(2000, 1024, forward_);
  const std::vector<int64_t> sums = by_category(ledger_.now(now_));
  EXPECT_EQ(sums[static_cast<size_t>(Category::kRunningForward)], 512);
  EXPECT_EQ(sums[static_cast<size_t>(Category::kActivations)], 1024);
}

TEST_F(LedgerTest, WhatAnOptimizerKeepsOutsideItsStateIsNotAttributed) {
  now_.in_optimizer = true;
  allocate(1000, 512, {.phase = Phase::kOptimizer});
  allocate(2000, 256, {.phase = Phase::kOptimizer});
  ledger_.tag(2000, Category::kOptimizerState, kOwner, kSeveral);
  now_.in_optimizer = false;
  ledger_.end_step(kOwner, now_);
  EXPECT_EQ(at_peak(Category::kNotAttributed), 512);
  EXPECT_EQ(at_peak(Category::kOptimizerState), 256);
}

TEST_F(LedgerTest, StepsInARowThatAreEqualAreOne) {
  for (int i = 0; i < 4; ++i) {
    allocate(1000, 512, forward_);
    release(1000, 512);
    if (i == 3) allocate(5000, 256, {});
    ledger_.end_step(kOwner, now_);
  }
  ASSERT_EQ(ledger_.steps().size(), 2U);
  EXPECT_EQ(ledger_.steps()[0].first, 1);
  EXPECT_EQ(ledger_.steps()[0].last, 3);
  EXPECT_EQ(ledger_.steps()[1].live_after, 256);
  EXPECT_EQ(ledger_.peak_step(), 1);
}

TEST_F(LedgerTest, ALongStepIsJudgedInParts) {
  allocate(8, 100, {});
  for (size_t i = 0; i < kMostEvents; i += 2) {
    allocate(1000, 512, forward_);
    release(1000, 512);
  }
  ledger_.end_step(kOwner, now_);
  ASSERT_EQ(ledger_.steps().size(), 1U);
  EXPECT_EQ(ledger_.steps()[0].peak, 612);
  EXPECT_EQ(at_peak(Category::kTemporaries), 512);
}

TEST(CategoryOf, AStackSaysWhatNoOwnerDoes) {
  EXPECT_EQ(category_of({.hint = Hint::kMoved}), Category::kParameters);
  EXPECT_EQ(category_of({.hint = Hint::kCommunication}), Category::kCommunication);
  EXPECT_EQ(category_of({.tag = Category::kGradients, .hint = Hint::kCommunication}),
            Category::kGradients);
  EXPECT_EQ(category_of({.hint = Hint::kMoved, .in_pool = true}), Category::kGraphPools);
}

}  // namespace
}  // namespace headroom
