#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/dryrun/dryrun.h"
#include "bench/dryrun/report.h"

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

}  // namespace
}  // namespace headroom
