#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/dryrun/dryrun.h"
#include "bench/dryrun/report/events.h"
#include "bench/dryrun/report/report.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

class DryRunText : public testing::Test {
 protected:
  DryRunText() {
    request_.card = virtual_card(parse_device("virtual:h100-80gb"));
    request_.words = {"python", "train.py"};
    outcome_.exit_code = 1;
  }
  std::string text() const { return dryrun_text(dryrun_document(request_, outcome_), 0); }

  DryRun request_;
  DryRunOutcome outcome_;
};

TEST_F(DryRunText, AKilledRankIsNamed) {
  outcome_.unreported = {{.pid = 11, .rank = 3}, {.pid = 12}, {.pid = 13, .is_running = true}};
  EXPECT_THAT(text(), HasSubstr("rank 3: process 11 used CUDA and left no report: it was killed"));
  EXPECT_THAT(text(), HasSubstr("\nprocess 12 used CUDA and left no report: it was killed"));
  EXPECT_THAT(text(), HasSubstr("process 13 used CUDA and is still running"));
}

TEST_F(DryRunText, AHostWithoutMemoryIsSaid) {
  EXPECT_THAT(text(), Not(HasSubstr("ran out of memory")));
  outcome_.host_kills = 2;
  EXPECT_THAT(text(), HasSubstr("ran out of memory meanwhile: the kernel killed 2 processes"));
}

TEST_F(DryRunText, ARankSaysForWhomItStands) {
  request_.world_size = 8;
  outcome_.kinds = {{.rank = 0, .ranks = {0, 1, 2, 3, 4, 5, 6}}, {.rank = 7, .ranks = {7}}};
  EXPECT_THAT(text(), HasSubstr("rank 0 stands for 7 ranks: 0-6\n"));
  EXPECT_THAT(text(), Not(HasSubstr("rank 7 stands")));
  EXPECT_THAT(text(), HasSubstr("of 8 ranks each of these ran alone"));
}

// A process that branched on a value read at a line.
ProcessReport that_read(const std::string& where, const std::string& operation) {
  const std::string line = where.substr(0, where.find(' '));
  return {.allocator = R"({"pid": 1, "devices": [{"ordinal": 0, "peak_allocated_bytes": 1,
                           "peak_reserved_bytes": 2097152}], "host_reads": [{"where": ")" +
                       where + R"(", "line": ")" + line + R"(", "operation": ")" + operation +
                       R"(", "use": "condition", "count": 512, "bytes": 512, "answered": 0}]})"};
}

TEST_F(DryRunText, OfATestTheReportSaysWhichWayItWentAndNotWhatToType) {
  outcome_.reports = {that_read("train.py:7 in wait", "bool")};
  EXPECT_THAT(text(), HasSubstr("  512 x train.py:7 in wait: bool\n    ran with 0 (false); --value "
                                "'train.py:7=1' runs it as true"));
  EXPECT_THAT(text(), Not(HasSubstr("to give an answer")));
  outcome_.reports = {that_read("train.py:7 in wait", "item")};
  EXPECT_THAT(text(), HasSubstr("to give an answer: --value 'train.py:7=1'"));
}

TEST_F(DryRunText, OfAProgramThatFailedTheReportSaysThatLaterLinesAreNotKnown) {
  const char* const later = "the program failed before it reached later lines";
  outcome_.reports = {that_read("train.py:7 in wait", "item")};
  EXPECT_THAT(text(), HasSubstr(later));
  outcome_.exit_code = 0;
  EXPECT_THAT(text(), Not(HasSubstr(later)));
  outcome_.signal = 6;
  EXPECT_THAT(text(), HasSubstr(later));
  outcome_.reports = {};
  EXPECT_THAT(text(), Not(HasSubstr(later)));
}

TEST_F(DryRunText, TheTestThatEndsAGenerationIsKnown) {
  outcome_.reports = {
      that_read("transformers/generation/utils.py:396 in __call__, called at g.py:13", "bool")};
  EXPECT_THAT(text(), HasSubstr("no sequence ended early"));
  EXPECT_THAT(text(), HasSubstr("'transformers/generation/utils.py:396=0*19,1' ends all after 20"));
  EXPECT_THAT(text(), Not(HasSubstr("utils.py:396=1'")));
}

TEST_F(DryRunText, EveryLineThatWantsANumberIsNamedAsAFileOfAnswersHasIt) {
  std::string lines;
  for (int i = 1; i <= 12; ++i) {
    lines += std::string(i == 1 ? "" : ", ") + R"({"where": "a.py:)" + std::to_string(i) +
             R"( in f", "line": "a.py:)" + std::to_string(i) +
             R"(", "operation": "nonzero", "use": "", "count": 1, "bytes": 4, "answered": 0})";
  }
  outcome_.reports = {
      {.allocator = R"({"pid": 1, "devices": [{"ordinal": 0, "peak_allocated_bytes": 1,
      "peak_reserved_bytes": 2097152}], "host_reads": [)" +
                    lines + "]}"}};
  for (int i = 1; i <= 12; ++i) {
    EXPECT_THAT(text(), HasSubstr("    a.py:" + std::to_string(i) + "=1\n"));
  }
}

TEST_F(DryRunText, ATestThatWasAnsweredIsSaidThough) {
  ProcessReport report = that_read("train.py:7 in wait", "bool");
  const size_t at = report.allocator.find("\"answered\": 0");
  report.allocator.replace(at, 13, "\"answered\": 512");
  outcome_.reports = {report};
  EXPECT_THAT(text(), Not(HasSubstr("the peak may be wrong")));
  EXPECT_THAT(text(),
              HasSubstr("the peak depends on the answer that --value gave, 512 times, to the "
                        "test at train.py:7 in wait"));
}

TEST(DryRunValue, AListInParenthesesBeginsAnew) {
  const Value value = parse_value("a.py:3=(0,4*2,7)*");
  EXPECT_TRUE(value.repeats);
  ASSERT_EQ(value.numbers.size(), 3U);
  EXPECT_EQ(value.numbers[1].count, 2);
  EXPECT_FALSE(parse_value("a.py:3=0*2,1").repeats);
  for (const char* none : {"a.py:3=(0,1)", "a.py:3=()*", "a.py:3=0,1)*", "a.py:3=(0,1*"}) {
    EXPECT_THROW(parse_value(none), UsageError) << none;
  }
}

// A process whose allocator reserved `mib`.
ProcessReport reserved(int pid, int mib) {
  const std::string bytes = std::to_string(int64_t{mib} << 20);
  return {.allocator = "{\"pid\": " + std::to_string(pid) +
                       ", \"devices\": [{\"ordinal\": 0, \"peak_allocated_bytes\": 1048576, "
                       "\"peak_reserved_bytes\": " +
                       bytes + "}]}"};
}

TEST_F(DryRunText, TwoTimingsOfEventsAreARangeWhereTheyDiffer) {
  request_.events = Events::kBoth;
  outcome_.reports = {reserved(1, 2), reserved(2, 8)};
  nlohmann::ordered_json document = dryrun_document(request_, outcome_);
  EXPECT_THAT(dryrun_text(document), HasSubstr("late events: not run"));
  outcome_.reports = {reserved(3, 6), reserved(4, 8)};
  const DryRun late = late_request(request_, outcome_);
  EXPECT_EQ(late.events, Events::kLate);
  add_late_run(document, dryrun_document(late, outcome_));
  const std::string text = dryrun_text(document);
  EXPECT_THAT(text, HasSubstr("2.000 MiB to 6.000 MiB"));
  EXPECT_THAT(text, Not(HasSubstr("8.000 MiB to")));
  EXPECT_THAT(text, HasSubstr("with late events exit code 1"));
}

TEST_F(DryRunText, OtherProcessesInTheSecondRunMakeNoRange) {
  request_.events = Events::kBoth;
  outcome_.reports = {reserved(1, 2)};
  nlohmann::ordered_json document = dryrun_document(request_, outcome_);
  outcome_.reports = {reserved(3, 6), reserved(4, 8)};
  add_late_run(document, dryrun_document(late_request(request_, outcome_), outcome_));
  EXPECT_THAT(dryrun_text(document), HasSubstr("late events: other processes used CUDA"));
  EXPECT_THAT(dryrun_text(document), Not(HasSubstr(" MiB to ")));
}

TEST(DryRunEvents, AnUnknownWordIsRefused) {
  EXPECT_EQ(parse_events("both"), Events::kBoth);
  EXPECT_THROW(parse_events("never"), UsageError);
}

}  // namespace
}  // namespace headroom
