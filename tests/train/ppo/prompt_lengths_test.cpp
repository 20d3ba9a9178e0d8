#include "train/ppo/setup/prompt_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace headroom {
namespace {

TEST(PromptLengths, EvenOnesAreAllAsLong) {
  EXPECT_EQ(prompt_lengths(PromptLengths::kEven, 3, 64, 7), (std::vector<int64_t>{64, 64, 64}));
}

TEST(PromptLengths, SkewedOnesAreMostlyShortAndOneIsTheLongest) {
  const std::vector<int64_t> lengths = prompt_lengths(PromptLengths::kSkewed, 1000, 1024, 7);
  EXPECT_EQ(lengths.front(), 1024);
  EXPECT_GE(*std::min_element(lengths.begin(), lengths.end()), 1);
  EXPECT_LE(*std::max_element(lengths.begin(), lengths.end()), 1024);
  const int64_t sum = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  EXPECT_NEAR(static_cast<double>(sum) / 1000, 256, 30) << "the mean of u^3 is a quarter";
  const auto below_half =
      std::count_if(lengths.begin(), lengths.end(), [](int64_t length) { return length < 512; });
  EXPECT_GT(below_half, 700);
}

TEST(PromptLengths, AreTheSameForASeedAndOthersForAnother) {
  const auto drawn = [](uint64_t seed) {
    return prompt_lengths(PromptLengths::kSkewed, 8, 1024, seed);
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

}  // namespace
}  // namespace headroom
