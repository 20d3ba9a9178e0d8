#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/log.h"
#include "profiling/snapshot/write.h"
#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

struct Outcome {
  int status = 0;
  std::string out;
  std::string err;
};

class SnapshotCommand : public testing::Test {
 protected:
  void SetUp() override {
    Snapshot snapshot;
    snapshot.frames = {{"headroom::a, \"b\" | <c>", "=cmd/model/x.cpp", 3}};
    snapshot.stacks = {{0}};
    snapshot.device_traces = {{{.address = 4096, .size = 512, .stack = 0},
                               {.address = 8192, .size = 512, .stack = 0},
                               {.address = 4608, .size = 100, .stack = -1}}};
    snapshot.segments = {
        {.address = 4096,
         .total_size = 8192,
         .blocks = {{.address = 4096, .size = 512, .requested_size = 512, .stack = 0},
                    {.address = 4608, .size = 512, .requested_size = 100},
                    {.address = 5120, .size = 3072, .state = BlockState::kInactive},
                    {.address = 8192, .size = 4096, .requested_size = 512, .stack = 0}}}};
    write_snapshot(snapshot, good_);
    std::filesystem::copy(good_, cut_);
    std::filesystem::resize_file(cut_, std::filesystem::file_size(cut_) / 2);
  }

  static Outcome run(std::vector<std::string> words) {
    words.insert(words.begin(), "snapshot");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int status = 0;
    try {
      status = run_snapshot_command(static_cast<int>(argv.size()), argv.data());
    } catch (const UsageError& error) {
      log_error(error.what());  // as main() does
      status = kExitUsage;
    }
    return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  ScratchDirectory directory_;
  std::string good_ = directory_.file("good.pickle");
  std::string cut_ = directory_.file("cut.pickle");
};

TEST_F(SnapshotCommand, TopGroupsAndSumsInEveryFormat) {
  EXPECT_THAT(run({"top", good_}).out,
              AllOf(HasSubstr("1.098 KiB (1124 bytes)"), HasSubstr("x 2")));
  const auto json = nlohmann::json::parse(run({"top", good_, "--format=json"}).out);
  EXPECT_EQ(json["peak_bytes"], 1124);
  EXPECT_EQ(json["allocations"][0]["size_bytes"], 512);
  EXPECT_EQ(json["allocations"][0]["count"], 2);
  EXPECT_THAT(run({"top", good_, "--format", "csv", "--limit", "1"}).out,
              HasSubstr("\n512,2,1024,"));
  EXPECT_THAT(run({"top", good_, "--format", "md"}).out, HasSubstr("\n| 1 | 512 B | x 2 |"));
}

TEST_F(SnapshotCommand, ValidateSaysOkOrWhyNotAndGoesOn) {
  Outcome outcome = run({"validate", good_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out, "ok: " + good_ + "\n");
  outcome = run({"validate", cut_, directory_.file("none.pickle"), good_});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("error: " + cut_ + ": byte "), HasSubstr("cut short"),
                    HasSubstr("none.pickle: No such file"), HasSubstr("ok: " + good_)));
}

TEST_F(SnapshotCommand, TopOfAFileThatDoesNotOpenExitsThreeWithNothingOnStdout) {
  for (const std::string& path : {cut_, directory_.path(), directory_.file("none.pickle")}) {
    const Outcome outcome = run({"top", path});
    EXPECT_EQ(outcome.status, 3);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, AllOf(StartsWith("headroom: "), HasSubstr(path)));
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
  }
}

TEST_F(SnapshotCommand, WrongUsageIsOneLineAndExitsTwo) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"tip", good_},
      {"top"},
      {"top", good_, good_},
      {"top", good_, "--limit", "3x"},
      {"top", good_, "--limit", "-1"},
      {"top", good_, "--limit"},
      {"top", good_, "--format", "xml"},
      {"top", good_, "--formt", "csv"},
      {"validate"},
  };
  for (const auto& words : wrong) {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(words);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_THAT(run({"top", good_, "--formt", "csv"}).err, HasSubstr("did you mean --format"));
}

}  // namespace
}  // namespace headroom
