#include "profiling/report/times/time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "profiling/flops.h"
#include "profiling/report/report.h"

namespace headroom {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Record timed(std::vector<double> step_ms, const std::string& device_name) {
  Record record;
  record.spec = {
      .context_length = 512, .profile_type = Mode::kTraining, .precision = Precision::kBf16};
  record.status = Status::kOk;
  record.environment = {{"device", "cuda:0"}, {"device_name", device_name}};
  record.step_ms = std::move(step_ms);
  return record;
}

Table table_of(const Record& record) { return time_table(record, *step_times(record.step_ms)); }

std::string value_of(const Table& table, const std::string& statistic) {
  for (const auto& row : table.rows) {
    if (row[0] == statistic) return row[1];
  }
  return "missing";
}

TEST(StepTimes, SkipWhatIsNoNumber) {
  const auto times = step_times({3, 1, std::nan(""), 2, 10});
  ASSERT_TRUE(times);
  EXPECT_EQ(times->steps, 4);
  EXPECT_DOUBLE_EQ(times->mean_ms, 4);
  EXPECT_DOUBLE_EQ(times->median_ms, 2.5);
  EXPECT_DOUBLE_EQ(times->deviation_ms, std::sqrt(50.0 / 3));
  EXPECT_FALSE(step_times({std::nan("")}));
  EXPECT_EQ(step_times({7})->deviation_ms, 0);
}

TEST(StepTimes, PercentilesAreThoseOfNumpy) {
  std::vector<double> ms;
  for (int i = 10; i >= 1; --i) ms.push_back(i);
  const auto times = step_times(ms);
  // numpy.percentile(range(1, 11), [10, 50, 90, 95])
  EXPECT_DOUBLE_EQ(times->p10_ms, 1.9);
  EXPECT_DOUBLE_EQ(times->median_ms, 5.5);
  EXPECT_DOUBLE_EQ(times->p90_ms, 9.1);
  EXPECT_DOUBLE_EQ(times->p95_ms, 9.55);
  const auto one = step_times({7});
  EXPECT_EQ(one->p10_ms, 7);
  EXPECT_EQ(one->p95_ms, 7);
}

TEST(TimeTable, OnAKnownCardSaysTflopsAndMfu) {
  const Record record = timed(std::vector<double>(10, 20.0), "NVIDIA H200");
  const Table table = table_of(record);
  const double flops = step_flops(*find_config("small"), 4, 512, Mode::kTraining).total() / 0.020;
  const StepRates rates = step_rates(record, 20);
  EXPECT_DOUBLE_EQ(rates.flops_per_second, flops);
  EXPECT_DOUBLE_EQ(*rates.mfu, flops / 989.4e12);
  EXPECT_EQ(value_of(table, "throughput"), "102400.0");
  EXPECT_EQ(value_of(table, "p90"), "20.000");
  EXPECT_NEAR(std::stod(value_of(table, "arithmetic")), flops / 1e12, 0.001);
  EXPECT_NEAR(std::stod(value_of(table, "MFU")), 100 * flops / 989.4e12, 0.01);
  EXPECT_THAT(table.notes, Contains(HasSubstr(kFlopsFormula)));
  EXPECT_THAT(table.notes, Contains(HasSubstr("989.4 TFLOP/s")));
}

TEST(TimeTable, OnAProcessorThereIsNoMfuAndItSaysSo) {
  const Table table = table_of(timed({20, 20}, "AMD EPYC 7B13"));
  EXPECT_EQ(value_of(table, "MFU"), "missing");
  EXPECT_NE(value_of(table, "arithmetic"), "missing");
  EXPECT_THAT(table.notes, Contains(HasSubstr("No MFU")));
  EXPECT_THAT(table.notes, Contains(HasSubstr("AMD EPYC 7B13")));
}

TEST(TimeTable, ASpreadThatIsTooWideIsSaidInOneLineWithItsThreshold) {
  const auto warning = AllOf(HasSubstr("Do not compare"), HasSubstr("threshold is 10.0 %"));
  const Table steady = table_of(timed({20, 20.4, 20.9, 20.1, 20.2}, ""));
  EXPECT_THAT(steady.notes, Not(Contains(warning)));
  const Table wide = table_of(timed({20, 27, 20.9, 31, 20.2}, ""));
  EXPECT_THAT(wide.notes, Contains(warning));
  EXPECT_THAT(wide.notes.front(), Not(HasSubstr("\n")));
  EXPECT_THAT(table_of(timed({20, 40}, "")).notes, Not(Contains(warning)))
      << "two steps say nothing of a spread";
  std::vector<double> one_slow(20, 20.0);
  one_slow.back() = 500;
  EXPECT_THAT(table_of(timed(one_slow, "")).notes, Not(Contains(warning)));
}

TEST(TimeTable, ProgramsFindTheRatesInTheSummary) {
  const Table table = summary_table(
      {timed(std::vector<double>(10, 20.0), "NVIDIA H200"), timed({}, "NVIDIA H200")});
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  for (const char* name : {"p90_step_ms", "tokens_per_second", "tflops_per_second", "mfu"}) {
    EXPECT_THAT(names, Contains(name));
  }
}

}  // namespace
}  // namespace headroom
