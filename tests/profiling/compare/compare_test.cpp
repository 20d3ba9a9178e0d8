#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "profiling/compare/comparison.h"
#include "profiling/compare/gate.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Result result_of(int64_t context, int64_t peak, std::vector<double> step_ms = {}) {
  Result result;
  Record& record = result.record;
  record.spec = {.context_length = context};
  record.status = Status::kOk;
  record.peak = MemoryBytes{peak, peak, peak};
  record.phases["backward"] = *record.peak;
  record.categories_at_peak = {{"activations", peak}};
  record.step_ms = std::move(step_ms);
  record.environment = {{"libtorch", "2.11.0"}, {"time_utc", "then"}, {"cell", {{"pid", 7}}}};
  result.name = row_name(record.spec);
  return result;
}

std::string no_command(const CellPair&, int64_t processes) { return std::to_string(processes); }

std::string text_of(const Comparison& comparison) {
  return to_string(comparison_tables(comparison, no_command, 10), TableFormat::kText);
}

TEST(Compare, CellsAreMatchedByTheirSettingsInAnyOrder) {
  const std::vector<Result> a = {result_of(128, 10), result_of(256, 20), result_of(512, 30)};
  const std::vector<Result> b = {result_of(512, 30), result_of(128, 10), result_of(1024, 40)};
  const Comparison comparison = compare_results(a, b, {});
  ASSERT_THAT(comparison.cells, SizeIs(2));
  EXPECT_TRUE(comparison.cells[0].memory.is_equal());
  EXPECT_THAT(comparison.missing, ElementsAre(HasSubstr("ctx256")));
  EXPECT_THAT(comparison.added, ElementsAre(HasSubstr("ctx1024")));
  EXPECT_THAT(text_of(comparison), HasSubstr("missing in B"));
}

TEST(Compare, OneCellEachIsAPairWhateverItsSettings) {
  const std::vector<Result> a = {result_of(128, 10)};
  const std::vector<Result> b = {result_of(256, 20)};
  const Comparison comparison = compare_results(a, b, {});
  ASSERT_THAT(comparison.cells, SizeIs(1));
  EXPECT_THAT(comparison.cells[0].pair.settings, ElementsAre("context_length 128 -> 256"));
  const auto& figures = comparison.cells[0].memory.figures;
  EXPECT_THAT(figures, Contains(testing::Field(&DifferingFigure::part, "tensor of theory")));
}

TEST(Compare, SettingsUnderComparisonMayDiffer) {
  std::vector<Result> a = {result_of(128, 10), result_of(256, 20)};
  std::vector<Result> b = a;
  for (Result& result : b) result.record.spec.precision = Precision::kBf16;
  EXPECT_THAT(compare_results(a, b, {}).cells, IsEmpty());
  EXPECT_THAT(compare_results(a, b, {.across = {"precision"}}).cells, SizeIs(2));
}

TEST(Compare, OneByteIsADifferenceWithItsPlaces) {
  const std::vector<Result> a = {result_of(128, 1000)};
  const std::vector<Result> b = {result_of(128, 1001)};
  const MemoryDifference memory = compare_results(a, b, {}).cells[0].memory;
  EXPECT_FALSE(memory.is_equal());
  EXPECT_EQ(memory.figures.front().part, "peak");
  EXPECT_THAT(memory.figures, Contains(testing::AllOf(
                                  testing::Field(&DifferingFigure::part, "phase"),
                                  testing::Field(&DifferingFigure::name, "backward, allocated"))));
  EXPECT_THAT(memory.figures, Contains(testing::AllOf(
                                  testing::Field(&DifferingFigure::part, "category at the peak"),
                                  testing::Field(&DifferingFigure::name, "activations"))));
}

TEST(Compare, RunsOfOneSideThatDifferAreNamed) {
  const std::vector<Result> a = {result_of(128, 1000), result_of(128, 1010)};
  const std::vector<Result> b = {result_of(128, 1010)};
  const MemoryDifference memory = compare_results(a, b, {}).cells[0].memory;
  EXPECT_TRUE(memory.is_equal());
  EXPECT_THAT(memory.notes, ElementsAre(HasSubstr("from 1000 to 1010 B")));
}

TEST(Compare, DifferingEnvironmentsAreListedAndTimesRefused) {
  const std::vector<Result> a = {result_of(128, 10, {1})};
  std::vector<Result> b = {result_of(128, 10, {1})};
  b[0].record.environment["libtorch"] = "2.12.0";
  b[0].record.environment["time_utc"] = "now";
  const Comparison comparison = compare_results(a, b, {});
  EXPECT_THAT(comparison.environment, ElementsAre(EnvironmentFact{"libtorch", "2.11.0", "2.12.0"}));
  EXPECT_TRUE(comparison.times_refused);
  EXPECT_FALSE(comparison.cells[0].times);
  const std::string text = text_of(comparison);
  EXPECT_LT(text.find("2.12.0"), text.find("A beside B"));
  EXPECT_THAT(text, HasSubstr("--anyway"));
  EXPECT_TRUE(compare_results(a, b, {.anyway = true}).cells[0].times);
}

std::vector<Result> processes(int count, double ms) {
  std::vector<Result> results;
  for (int i = 0; i < count; ++i) {
    results.push_back(result_of(128, 10, {ms * (1 + 0.001 * i), 2 * ms, 0.5 * ms}));
  }
  return results;
}

TEST(Compare, ProgramsReadPlainNumbers) {
  const std::vector<Result> a = processes(5, 100);
  const std::vector<Result> b = processes(5, 120);
  const auto tables = comparison_tables(compare_results(a, b, {}), no_command, 0);
  const auto json = nlohmann::json::parse(to_string(tables, TableFormat::kJson));
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["a_peak_bytes"], 10);
  EXPECT_NEAR(row["ratio"].get<double>(), 1.2, 1e-9);
  EXPECT_GT(row["ratio_low"].get<double>(), 1.19);
}

TEST(Compare, FilesDecideOnlyWithFiveProcessesOfEachSide) {
  const auto verdict = [](int count_a, int count_b) {
    const std::vector<Result> a = processes(count_a, 100);
    const std::vector<Result> b = processes(count_b, 120);
    return compare_results(a, b, {}).cells[0].times->judged;
  };
  EXPECT_EQ(verdict(1, 1).verdict, TimeVerdict::kUndecided);
  EXPECT_THAT(verdict(1, 1).reason, HasSubstr("one process"));
  EXPECT_EQ(verdict(4, 5).verdict, TimeVerdict::kUndecided);
  EXPECT_THAT(verdict(4, 5).reason, HasSubstr("5 are needed"));
  EXPECT_EQ(verdict(5, 5).verdict, TimeVerdict::kSlower);
}

// Rounds of A, A again and B.
std::vector<Result> in_turn(bool is_b, int rounds, double ms, double mhz) {
  std::vector<Result> results;
  for (int round = 0; round < rounds; ++round) {
    for (int again = 0; again < (is_b ? 1 : 2); ++again) {
      Result result = result_of(128, 10, {ms * (1 + 0.0005 * ((round + again) % 3))});
      result.round = round;
      result.again = again == 1;
      result.record.environment["nvml"]["sm_clock_mhz"] = {{"lowest", mhz}, {"highest", mhz}};
      results.push_back(result);
    }
  }
  return results;
}

TEST(Compare, ADifferenceThatTheClockExplainsIsUndecided) {
  const std::vector<Result> a = in_turn(false, 7, 100, 1980);
  const auto judged = [&](double mhz) {
    const std::vector<Result> b = in_turn(true, 7, 110, mhz);
    return compare_results(a, b, {}).cells[0].times->judged;
  };
  EXPECT_EQ(judged(1980).verdict, TimeVerdict::kSlower);
  EXPECT_EQ(judged(1800).verdict, TimeVerdict::kUndecided);
  EXPECT_THAT(judged(1800).reason, HasSubstr("cycles"));
}

TEST(Compare, UndecidedNamesTheCommandThatWouldDecide) {
  Judgement judged = judge({.mean = 0.02, .low = -0.01, .high = 0.05, .chance = 0.2, .count = 7},
                           {.low = -0.01, .high = 0.01, .count = 7});
  EXPECT_EQ(judged.verdict, TimeVerdict::kUndecided);
  ASSERT_TRUE(judged.needed);
  EXPECT_GT(*judged.needed, 7);
}

TEST(Compare, AmongManyCellsALuckyOneIsTakenBack) {
  std::vector<Judgement> judgements;
  for (int i = 0; i < 20; ++i) {
    const bool lucky = i == 0;
    const LogRatio ratio{.mean = lucky ? 0.03 : 0,
                         .low = lucky ? 0.002 : -0.01,
                         .high = lucky ? 0.06 : 0.01,
                         .chance = lucky ? 0.04 : 0.5,
                         .count = 7};
    judgements.push_back(judge(ratio, {.low = -0.01, .high = 0.01, .count = 7}));
  }
  EXPECT_EQ(judgements.front().verdict, TimeVerdict::kSlower);
  judge_together({&judgements.front()});
  EXPECT_EQ(judgements.front().verdict, TimeVerdict::kSlower);
  std::vector<Judgement*> all;
  for (Judgement& judged : judgements) all.push_back(&judged);
  judge_together(all);
  EXPECT_EQ(judgements.front().verdict, TimeVerdict::kUndecided);
  EXPECT_THAT(judgements.front().reason, HasSubstr("20 cells"));
}

TEST(Results, BenchmarksOfOneProcessAreOneResult) {
  const std::vector<Result> results = results_of_output(R"({"context": {"headroom_build": "abc",
    "host_name": "vm"}, "benchmarks": [
    {"name": "step/a", "run_name": "step/a", "run_type": "iteration", "real_time": 2e6,
     "time_unit": "ns", "peak_allocated_bytes": 7.0},
    {"name": "step/a", "run_name": "step/a", "run_type": "iteration", "real_time": 4,
     "time_unit": "ms"},
    {"name": "step/a_mean", "run_name": "step/a", "run_type": "aggregate", "real_time": 3,
     "time_unit": "ms"},
    {"name": "step/b", "run_name": "step/b", "run_type": "iteration", "error_occurred": true,
     "error_message": "full"}]})");
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results[0].name, "step/a");
  EXPECT_THAT(results[0].record.step_ms, ElementsAre(2, 4));
  EXPECT_EQ(results[0].record.peak->allocated, 7);
  EXPECT_EQ(results[0].record.environment.at("build"), "abc");
  EXPECT_EQ(results[1].record.reason, "full");
}

TEST(Results, OtherLinesOfAProgramArePassedOver) {
  const std::string line = to_json_line(result_of(128, 10).record);
  EXPECT_THAT(results_of_output("hello\n{\"a\": 1}\n" + line + "\n"), SizeIs(1));
  EXPECT_THAT(results_of_output(""), IsEmpty());
}

TEST(Gate, ReadsItsListAndRefusesTheRest) {
  const Gate gate = parse_gate("--fail-on", "memory,time=5%");
  EXPECT_EQ(gate.memory, 0);
  EXPECT_NEAR(*gate.time, 0.05, 1e-12);
  EXPECT_EQ(parse_gate("--fail-on", "memory=1KiB").memory, 1024);
  for (const char* bad : {"", "memory,", "time", "time=5", "time=x%", "speed", "memory=much"}) {
    EXPECT_THROW(parse_gate("--fail-on", bad), UsageError) << bad;
  }
}

TEST(Gate, FailsOnGrowthOnAMissingCellAndOnACellThatNoLongerRuns) {
  const Gate gate{.memory = 0};
  const std::vector<Result> a = {result_of(128, 1000), result_of(256, 1000)};
  std::vector<Result> b = a;
  EXPECT_EQ(failure_of(compare_results(a, b, {}), gate), "");
  b[1] = result_of(256, 999);
  EXPECT_EQ(failure_of(compare_results(a, b, {}), gate), "");
  b[1] = result_of(256, 1512);
  const std::string grown = failure_of(compare_results(a, b, {}), gate);
  EXPECT_THAT(grown, HasSubstr("ctx256"));
  EXPECT_THAT(grown, HasSubstr("+512 B"));
  EXPECT_EQ(failure_of(compare_results(a, b, {}), {.memory = 512}), "");
  EXPECT_EQ(failure_of(compare_results(a, b, {}), {.time = 0.05}), "");
  b[1].record.status = Status::kOom;
  EXPECT_THAT(failure_of(compare_results(a, b, {}), gate), HasSubstr("ended oom in B"));
  b.pop_back();
  b.push_back(result_of(512, 1));
  EXPECT_THAT(failure_of(compare_results(a, b, {}), gate), HasSubstr("missing in B"));
}

TEST(Gate, TimeFailsOnAVerdictAlone) {
  const std::vector<Result> a = processes(6, 100);
  const std::vector<Result> b = processes(6, 110);
  const Comparison slower = compare_results(a, b, {});
  EXPECT_THAT(failure_of(slower, {.time = 0.05}), HasSubstr("+10.0 %"));
  EXPECT_EQ(failure_of(slower, {.time = 0.2}), "");
  EXPECT_EQ(failure_of(compare_results(b, a, {}), {.time = 0.05}), "");
}

}  // namespace
}  // namespace headroom
