#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "profiling/compare/statistics/false_discovery.h"
#include "profiling/compare/statistics/ratio.h"
#include "profiling/compare/statistics/student.h"

namespace headroom {
namespace {

using testing::ElementsAre;

// Table 2 of Student's distribution in any textbook: t for a two-sided probability of 5 %.
TEST(Student, HasThePublishedQuantiles) {
  EXPECT_NEAR(student_quantile(0.05, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_quantile(0.05, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_quantile(0.05, 6), 2.447, 5e-4);
  EXPECT_NEAR(student_quantile(0.05, 9), 2.262, 5e-4);
  EXPECT_NEAR(student_quantile(0.01, 30), 2.750, 5e-4);
}

TEST(Student, OneAndTwoDegreesOfFreedomHaveClosedForms) {
  EXPECT_NEAR(student_two_sided(1, 1), 0.5, 1e-12);
  EXPECT_NEAR(student_two_sided(2, 2), 1 - 2 / std::sqrt(6.0), 1e-12);
  EXPECT_EQ(student_two_sided(0, 7), 1);
  EXPECT_EQ(student_two_sided(INFINITY, 7), 0);
}

TEST(Student, ManyDegreesOfFreedomAreNearlyNormal) {
  EXPECT_NEAR(student_two_sided(1.96, 10'000), std::erfc(1.96 / std::numbers::sqrt2), 1e-4);
}

TEST(Ratio, ASingleValueHasNoInterval) {
  const LogRatio ratio = paired_ratio({0.1});
  EXPECT_EQ(ratio.mean, 0.1);
  EXPECT_EQ(ratio.high, INFINITY);
  EXPECT_EQ(ratio.chance, 1);
  EXPECT_EQ(paired_ratio({}).count, 0);
}

TEST(Ratio, EqualValuesAreCertain) {
  const LogRatio ratio = paired_ratio({0.1, 0.1, 0.1});
  EXPECT_NEAR(ratio.low, 0.1, 1e-12);
  EXPECT_NEAR(ratio.high, 0.1, 1e-12);
  EXPECT_LT(ratio.chance, 1e-6);
}

TEST(Ratio, TheIntervalHasTheMeanInItAndEqualDataGiveEqualIntervals) {
  const std::vector<double> logs = {0.01, 0.03, 0.02, 0.05, -0.01, 0.04, 0.02};
  const LogRatio ratio = paired_ratio(logs);
  EXPECT_LT(ratio.low, ratio.mean);
  EXPECT_GT(ratio.high, ratio.mean);
  EXPECT_EQ(ratio.low, paired_ratio(logs).low);
}

// Student's own interval is 0.0229 +- 0.0181; the bootstrap's is near it.
TEST(Ratio, TheIntervalOfFewValuesIsAboutStudents) {
  const LogRatio ratio = paired_ratio({0.01, 0.03, 0.02, 0.05, -0.01, 0.04, 0.02});
  EXPECT_NEAR(ratio.half_width(), 0.0181, 0.003);
}

TEST(Ratio, UnpairedSamplesMayHaveDifferentSizes) {
  const LogRatio ratio = unpaired_ratio({0, 0.02, 0.01}, {0.1, 0.12, 0.11, 0.13, 0.09});
  EXPECT_NEAR(ratio.mean, 0.1, 1e-12);
  EXPECT_EQ(ratio.count, 3);
  EXPECT_GT(ratio.low, 0);
}

TEST(FalseDiscovery, ComparesTheKthChanceWithKShares) {
  // The first four of fifteen values of Benjamini and Hochberg's own example (1995, section 3.2).
  const std::vector<double> chances = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201,
                                       0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
                                       0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<bool> found = discoveries(chances, 0.05);
  EXPECT_EQ(std::count(found.begin(), found.end(), true), 4);
  EXPECT_TRUE(found[3]);
  EXPECT_FALSE(found[4]);
}

TEST(FalseDiscovery, ALaterChanceMayRescueAnEarlierOne) {
  EXPECT_THAT(discoveries({0.04, 0.03}, 0.05), ElementsAre(true, true));
  EXPECT_THAT(discoveries({0.06, 0.03}, 0.05), ElementsAre(false, false));
  EXPECT_TRUE(discoveries({}, 0.05).empty());
}

}  // namespace
}  // namespace headroom
