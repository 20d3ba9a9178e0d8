#include "plan/fit/vary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "text/quantity.h"

namespace headroom {
namespace {

const std::vector<std::string> kWords = {"python", "train.py", "--batch={batch}",
                                         "{batch}x{batch}"};
const std::vector<std::string> kConfs = {"", "expandable_segments:True", "max_split_size_mb:128"};

ProgramRun of(Fits fits) {
  return {.fits = fits, .peak = {}, .reason = fits == Fits::kUnknown ? "exit code 7" : "full"};
}

TEST(Vary, PutsTheValueInItsPlaces) {
  const Vary vary = parse_vary("batch=1..256", kWords);
  EXPECT_EQ(vary.range.least, 1);
  EXPECT_EQ(vary.range.most, 256);
  const std::vector<std::string> expected = {"python", "train.py", "--batch=12", "12x12"};
  EXPECT_EQ(with_value(kWords, vary, 12), expected);
}

TEST(Vary, RefusesWhatIsNoRangeOrHasNoPlace) {
  for (const char* typed : {"batch", "batch=", "batch=1", "=1..2", "batch=2..1", "batch=0..4",
                            "batch=1..2x", "batch=1...2", "size=1..2", "1..2=batch"}) {
    EXPECT_THROW(parse_vary(typed, kWords), UsageError) << typed;
  }
}

TEST(Vary, FindsTheLargestAndTriesOtherSettingsOneStepBeyond) {
  const Vary vary = parse_vary("batch=1..256", kWords);
  int others = 0;
  const auto run = [&](int64_t value, const std::string& conf) {
    if (!conf.empty()) ++others;
    const int64_t most = conf.starts_with("expandable") ? 50 : 41;
    return of(value <= most ? Fits::kYes : Fits::kNo);
  };
  const VaryResult result = search_vary(vary, kConfs, run, [] { return false; });
  ASSERT_EQ(result.answers.size(), 2U);
  EXPECT_EQ(result.answers[0].largest, 41);
  EXPECT_EQ(result.answers[0].beyond->fits, Fits::kNo);
  EXPECT_EQ(result.answers[1].largest, 50);
  EXPECT_EQ(result.answers[1].alloc_conf, "expandable_segments:True");
  EXPECT_LE(others, 10);
}

TEST(Vary, AFailureThatIsNotMemoryIsToldApartAndEndsTheSearch) {
  const Vary vary = parse_vary("batch=1..256", kWords);
  const auto run = [&](int64_t value, const std::string&) {
    return of(value <= 4 ? Fits::kYes : Fits::kUnknown);
  };
  const VaryResult result = search_vary(vary, kConfs, run, [] { return false; });
  ASSERT_EQ(result.answers.size(), 1U);
  EXPECT_EQ(result.answers[0].largest, 4);
  ASSERT_EQ(result.failures.size(), 1U);
  EXPECT_EQ(result.failures[0], "batch 8: exit code 7");
}

TEST(Vary, WhatIsKnownAtAnInterruptIsKept) {
  const Vary vary = parse_vary("batch=1..256", kWords);
  int left = 4;
  const auto run = [&](int64_t value, const std::string&) {
    if (--left == 0) return ProgramRun{};  // interrupted
    return of(value <= 2 ? Fits::kYes : Fits::kNo);
  };
  const VaryResult result = search_vary(vary, kConfs, run, [&] { return left <= 0; });
  EXPECT_TRUE(result.stopped);
  EXPECT_TRUE(result.failures.empty());
  ASSERT_EQ(result.answers.size(), 1U);
  EXPECT_EQ(result.answers[0].largest, 2);
  ASSERT_TRUE(result.answers[0].beyond);
  EXPECT_EQ(result.answers[0].beyond->reason, "batch 4: full");
}

TEST(Vary, AnInterruptBeforeAnythingRanLeavesNothing) {
  const Vary vary = parse_vary("batch=1..256", kWords);
  bool stopped = false;
  const auto run = [&](int64_t, const std::string&) {
    stopped = true;
    return ProgramRun{};
  };
  const VaryResult result = search_vary(vary, kConfs, run, [&] { return stopped; });
  EXPECT_TRUE(result.stopped);
  EXPECT_TRUE(result.answers.empty());
}

TEST(Vary, AFailureInTheMiddleSaysWhichValueItWas) {
  const Vary vary = parse_vary("batch=1..256", kWords);
  const auto run = [&](int64_t value, const std::string&) {
    return of(value == 12 ? Fits::kUnknown : value <= 13 ? Fits::kYes : Fits::kNo);
  };
  const VaryResult result = search_vary(vary, kConfs, run, [] { return false; });
  ASSERT_EQ(result.answers.size(), 1U);
  EXPECT_EQ(result.answers[0].largest, 8);
  EXPECT_EQ(result.answers[0].beyond->reason, "batch 12: exit code 7");
  EXPECT_EQ(result.failures, (std::vector<std::string>{"batch 12: exit code 7"}));
}

TEST(Vary, AProgramThatPutsNothingOnTheCardIsToldSo) {
  const Vary vary = parse_vary("batch=1..4", kWords);
  ProgramRun ran = of(Fits::kYes);
  const auto run = [&](int64_t, const std::string&) { return ran; };
  const auto says_so = [&] {
    const VaryResult result = search_vary(vary, kConfs, run, [] { return false; });
    const Table table = vary_table(vary, result, "rtx4090");
    return std::any_of(table.notes.begin(), table.notes.end(), [](const std::string& note) {
      return note.find("NO USE OF CUDA") != std::string::npos;
    });
  };
  EXPECT_TRUE(says_so());
  ran.peak = 1 << 20;
  EXPECT_FALSE(says_so());
}

TEST(Vary, NoneMayRunAndAllMay) {
  const Vary vary = parse_vary("batch=3..9", kWords);
  const auto none = [](int64_t, const std::string&) { return of(Fits::kNo); };
  const VaryResult nothing = search_vary(vary, kConfs, none, [] { return false; });
  ASSERT_FALSE(nothing.answers.empty());
  EXPECT_EQ(nothing.answers[0].largest, 0);
  const auto all = [](int64_t, const std::string&) { return of(Fits::kYes); };
  const VaryResult everything = search_vary(vary, kConfs, all, [] { return false; });
  ASSERT_EQ(everything.answers.size(), 1U);
  EXPECT_EQ(everything.answers[0].largest, 9);
  EXPECT_FALSE(everything.answers[0].beyond);
}

}  // namespace
}  // namespace headroom
