#include "plan/fit/bracket.h"

#include <gtest/gtest.h>

#include <set>

namespace headroom {
namespace {

TEST(Bracket, FindsTheLargestFromEveryGuessAndAsksOneStepBeyond) {
  for (const int64_t stride : {1, 2, 16}) {
    for (int64_t strides = 1; strides <= 20; ++strides) {
      const Range range{.least = stride, .most = strides * stride, .stride = stride};
      for (int64_t largest = 0; largest <= range.most + 5; ++largest) {
        const int64_t expected = std::min(largest, range.most) / stride * stride;
        for (int64_t guess = 0; guess <= range.most + 20; guess += 3) {
          const int64_t first_step = guess % 4 * 3;
          std::set<int64_t> asked;
          const auto found = largest_that_fits(
              range, guess,
              [&](int64_t value) {
                EXPECT_TRUE(asked.insert(value).second) << "asked twice";
                EXPECT_EQ(value % stride, 0);
                return value <= largest ? Fits::kYes : Fits::kNo;
              },
              first_step);
          ASSERT_EQ(found, expected) << "guess " << guess << " of " << range.most;
          if (expected > 0) {
            EXPECT_EQ(asked.count(expected), 1U);
          }
          if (expected < range.most) {
            EXPECT_EQ(asked.count(expected + stride), 1U);
          }
        }
      }
    }
  }
}

TEST(Bracket, AsksTwiceWhereTheGuessIsRight) {
  int asked = 0;
  const Range range{.least = 1, .most = 1 << 24, .stride = 1};
  EXPECT_EQ(largest_that_fits(range, 1234,
                              [&](int64_t value) {
                                ++asked;
                                return value <= 1234 ? Fits::kYes : Fits::kNo;
                              }),
            1234);
  EXPECT_EQ(asked, 2);
}

TEST(Bracket, AsksFewTimesInALongRange) {
  int asked = 0;
  const Range range{.least = 1, .most = 1 << 24, .stride = 1};
  largest_that_fits(range, 1, [&](int64_t value) {
    ++asked;
    return value <= 9999999 ? Fits::kYes : Fits::kNo;
  });
  EXPECT_LE(asked, 50);
}

TEST(Bracket, EndsWhereAnAnswerIsNone) {
  const Range range{.least = 1, .most = 100, .stride = 1};
  const auto found = largest_that_fits(
      range, 10, [](int64_t value) { return value == 11 ? Fits::kUnknown : Fits::kYes; });
  EXPECT_FALSE(found.has_value());
}

}  // namespace
}  // namespace headroom
