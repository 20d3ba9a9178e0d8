#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/dryrun/dryrun.h"
#include "bench/dryrun/events.h"
#include "bench/dryrun/report.h"
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
  EXPECT_THAT(text(), HasSubstr("process 13 used CUDA and runs on"));
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

// A process whose allocator reserved that much.
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
