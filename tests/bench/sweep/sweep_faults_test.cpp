// Kills, interrupts and restarts a whole sweeping program.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "profiling/record/record_file.h"
#include "tests/bench/launch/stub_cell.h"
#include "tests/bench/process/process_state.h"
#include "tests/files/scratch_directory.h"
#include "tests/support/at_night.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

class SweepFaults : public testing::Test {
 protected:
  // Starts the driver; its output goes to files.
  pid_t start(const std::string& records, const std::string& seeds) const {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setenv("HEADROOM_CELL", STUB_CELL, 1);
    const int out = open(out_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    const int err = open(err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execl(SWEEP_DRIVER, SWEEP_DRIVER, records.c_str(), seeds.c_str(), nullptr);
    _exit(127);
  }

  // The exit code, or minus the signal.
  static int wait_for(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  }

  // The number of rows in the sweep's file.
  size_t rows() const {
    if (!std::filesystem::exists(records_)) return 0;
    const std::string text = read_text(records_);
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  // The pid printed by a hanging cell; 0 before that.
  pid_t hanging_cell() const {
    std::istringstream talk(read_text(err_));
    std::string line;
    while (std::getline(talk, line)) {
      if (line.starts_with("hanging ") && !talk.eof()) return atoi(line.c_str() + 8);
    }
    return 0;
  }

  ScratchDirectory folder_;
  std::string records_ = folder_.file("records.jsonl");
  std::string out_ = folder_.file("out");
  std::string err_ = folder_.file("err");
};

TEST_F(SweepFaults, KilledAtAnyMomentAndStartedAgainItGivesTheSameRows) {
  std::string seeds = "1000";
  for (int seed = 1001; seed < 1012; ++seed) seeds += "," + std::to_string(seed);
  seeds += ",101";  // one row that is not ok
  EXPECT_EQ(wait_for(start(folder_.file("whole.jsonl"), seeds)), 3);
  const std::string expected = read_text(out_);

  const unsigned chance = is_at_night() ? std::random_device{}() : 20251125U;
  std::printf("chance %u\n", chance);
  std::mt19937 random(chance);
  std::uniform_int_distribution<int> delay_us(0, 150000);
  int kills = 0;
  int code = -SIGKILL;
  while (code == -SIGKILL) {
    const auto rows_before = rows();
    const pid_t pid = start(records_, seeds);
    if (kills < 30) {
      // Every second time after one more row, however long a busy machine takes; then after a short
      // delay.
      if (kills % 2 == 1) eventually([&] { return rows() > rows_before || has_ended(pid); });
      std::this_thread::sleep_for(std::chrono::microseconds(delay_us(random)));
      kill(pid, SIGKILL);
    }
    code = wait_for(pid);
    if (code == -SIGKILL) ++kills;
    if (code != -SIGKILL && kills == 0) {  // this thread slept longer than the whole sweep took
      std::filesystem::remove(records_);
      code = -SIGKILL;
    }
  }
  EXPECT_EQ(code, 3) << read_text(err_);
  EXPECT_GT(kills, 0);
  EXPECT_EQ(read_text(out_), expected);

  std::multiset<std::string> keys;
  for (const Record& record : read_records(records_)) {
    keys.insert(record.environment["key"].get<std::string>());
  }
  EXPECT_EQ(keys.size(), 13U);
  for (const std::string& key : keys) EXPECT_EQ(keys.count(key), 1U);
}

TEST_F(SweepFaults, AKilledSweepLeavesNoCellBehind) {
  const pid_t pid = start(records_, std::to_string(kStubHang));
  ASSERT_TRUE(eventually([&] { return hanging_cell() != 0; }));
  const pid_t cell = hanging_cell();
  EXPECT_FALSE(has_ended(cell));
  kill(pid, SIGKILL);
  EXPECT_EQ(wait_for(pid), -SIGKILL);
  EXPECT_TRUE(is_dead(cell));
}

TEST_F(SweepFaults, AnInterruptEndsTheCellAtOnceAndKeepsTheRowsBefore) {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::filesystem::remove(records_);
    const pid_t pid = start(records_, "1,2," + std::to_string(kStubHang) + ",3");
    ASSERT_TRUE(eventually([&] { return hanging_cell() != 0; }));
    const pid_t cell = hanging_cell();
    const auto asked = std::chrono::steady_clock::now();
    kill(pid, signal);
    EXPECT_EQ(wait_for(pid), 130);
    EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(20));
    EXPECT_TRUE(is_dead(cell));
    SkippedLines skipped;
    const auto records = read_records(records_, &skipped);
    EXPECT_EQ(skipped.count, 0);
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[1].spec.seed, 2);
    EXPECT_THAT(read_text(out_), HasSubstr("seed-2 ok")) << "no table of the rows there are";
    std::filesystem::remove(err_);
  }
}

TEST_F(SweepFaults, TheParentHasNeitherLibtorchNorCuda) {
  const pid_t pid = start(records_, std::to_string(kStubHang));
  ASSERT_TRUE(eventually([&] { return hanging_cell() != 0; }));
  for (const std::string& process : {std::to_string(pid), std::string("self")}) {
    const std::string maps = read_text("/proc/" + process + "/maps");
    EXPECT_THAT(maps, HasSubstr("libstdc++"));
    for (const char* library : {"libtorch", "libc10", "libcuda", "libcudart", "libcublas"}) {
      EXPECT_THAT(maps, Not(HasSubstr(library)));
    }
  }
  kill(pid, SIGTERM);
  EXPECT_EQ(wait_for(pid), 130);
}

TEST_F(SweepFaults, RecordsThatCannotBeWrittenAreOneLineBeforeAnyCellRuns) {
  write_text(folder_.file("file"), "");
  for (const std::string& path : {std::string("/dev/full"), folder_.file("none/records.jsonl"),
                                  folder_.file("file/records.jsonl")}) {
    EXPECT_EQ(wait_for(start(path, "1,2")), 5);
    const std::string talk = read_text(err_);
    EXPECT_THAT(talk, HasSubstr("cannot write " + path));
    EXPECT_EQ(std::count(talk.begin(), talk.end(), '\n'), 1) << talk;
    EXPECT_EQ(read_text(out_), "");
  }
}

}  // namespace
}  // namespace headroom
