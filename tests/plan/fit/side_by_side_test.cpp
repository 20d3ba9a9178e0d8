#include "plan/fit/answers/side_by_side.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace headroom {
namespace {

TEST(SideBySide, AsksEachOnceAndReturnsWhenAllHaveAnswered) {
  for (const size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::atomic<int>> asked(count);
    side_by_side(count, [&](size_t place) { ++asked[place]; });
    for (const auto& times : asked) EXPECT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace headroom
