// Cells in a warm worker, here the stub cell: each request goes to a new process or the same one.
#include "bench/launch/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <set>
#include <thread>
#include <vector>

#include "bench/launch/cell.h"
#include "tests/bench/launch/stub_cell.h"

namespace headroom {
namespace {

using testing::HasSubstr;

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() {
    options_.program = STUB_CELL;
    options_.workers = std::make_shared<WarmWorkers>(1);
  }

  Record run(int64_t seed) { return run_cell(on_a_virtual_card(seed), options_); }
  static RunSpec on_a_virtual_card(int64_t seed) {
    return {.device = parse_device("virtual:h200"), .seed = seed};
  }
  static int64_t pid_of(const Record& record) { return record.environment["pid"]; }

  CellOptions options_;
};

TEST_F(WorkerTest, CellsOnAVirtualCardShareAProcessAndSayNothingOfIt) {
  const Record first = run(1);
  const Record second = run(2);
  EXPECT_EQ(first.status, Status::kOk) << first.reason;
  EXPECT_EQ(second.peak->allocated, (1 << 20) + 2);
  EXPECT_EQ(pid_of(first), pid_of(second));
  EXPECT_EQ(second.environment["cell"]["one_process"], false);
  EXPECT_EQ(second.environment["cell"]["cells_before"], 0);
}

TEST_F(WorkerTest, OtherDevicesFilesAndWatchedStepsGetProcessesOfTheirOwn) {
  std::set<int64_t> processes = {pid_of(run(1))};
  RunSpec on_cpu = {.device = parse_device("cpu")};
  RunSpec with_tokens = on_a_virtual_card(1);
  with_tokens.tokens = "/dev/null";
  for (const RunSpec& spec : {on_cpu, with_tokens}) {
    processes.insert(pid_of(run_cell(spec, options_)));
  }
  EXPECT_EQ(processes.size(), 3U);
  CellOptions watching = options_;
  watching.watches = true;
  processes.insert(pid_of(run_cell(on_a_virtual_card(1), watching)));
  EXPECT_EQ(processes.size(), 4U);
}

TEST_F(WorkerTest, AWorkerServesTheAllocatorSettingsThatItWasStartedWith) {
  RunSpec with_settings = on_a_virtual_card(1);
  with_settings.alloc_conf = "expandable_segments:True";
  const Record without = run(1);
  const Record first = run_cell(with_settings, options_);
  const Record second = run_cell(with_settings, options_);
  EXPECT_EQ(first.environment["cuda_alloc_conf"], "expandable_segments:True");
  EXPECT_EQ(pid_of(first), pid_of(second));
  EXPECT_NE(pid_of(first), pid_of(without));
}

TEST_F(WorkerTest, AnotherCardGetsAnotherWorker) {
  const Record first = run(1);
  RunSpec on_a10 = on_a_virtual_card(1);
  on_a10.device = parse_device("virtual:a10");
  EXPECT_NE(pid_of(run_cell(on_a10, options_)), pid_of(first));
}

TEST_F(WorkerTest, AWorkerThatIsKilledCostsTheCellItWasAt) {
  const Record before = run(1);
  const Record killed = run(kStubKilled);
  EXPECT_EQ(killed.status, Status::kKilled);
  EXPECT_THAT(killed.reason, HasSubstr("SIGKILL"));
  const Record after = run(2);
  EXPECT_EQ(after.status, Status::kOk) << after.reason;
  EXPECT_NE(pid_of(after), pid_of(before));
}

TEST_F(WorkerTest, AWorkerThatIsKilledBetweenCellsCostsNone) {
  const Record before = run(1);
  const auto process = static_cast<pid_t>(pid_of(before));
  kill(process, SIGKILL);
  while (kill(process, 0) == 0) std::this_thread::yield();  // until it is reaped
  const Record after = run(2);
  EXPECT_EQ(after.status, Status::kOk) << after.reason;
  EXPECT_NE(pid_of(after), pid_of(before));
}

TEST_F(WorkerTest, ACrashIsToldByAProcessOfItsOwn) {
  run(1);
  const Record record = run(kStubExit);
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_EQ(record.reason, "exit code 7: terminate: weights are missing");
  EXPECT_EQ(run(2).status, Status::kOk);
}

TEST_F(WorkerTest, AFailureAfterOtherCellsIsAskedAgainAlone) {
  const Record first = run(1);
  const Record failed = run(kStubFailed);
  EXPECT_EQ(failed.status, Status::kFailed);
  EXPECT_NE(pid_of(failed), pid_of(first));
  EXPECT_EQ(run(2).status, Status::kOk);
}

TEST_F(WorkerTest, OnlyTheCellThatOutlivesItsDeadlineIsLost) {
  options_.deadline_seconds = 0.5;
  const Record late = run(kStubHang);
  EXPECT_EQ(late.status, Status::kTimeout);
  options_.deadline_seconds = 0;
  EXPECT_EQ(run(1).status, Status::kOk);
}

TEST_F(WorkerTest, AnAnswerTooManyIsNotTakenForTheNextCells) {
  run(kStubTwoRecords);
  const Record next = run(3);
  EXPECT_EQ(next.spec.seed, 3);
  EXPECT_EQ(next.peak->allocated, (1 << 20) + 3);
}

TEST_F(WorkerTest, WhatACellSaysIsHeardBeforeItsRecord) {
  size_t bytes = 0;
  options_.on_talk = [&](const std::string& line) { bytes += line.size() + 1; };
  EXPECT_EQ(run(kStubTalkative).status, Status::kOk);
  EXPECT_EQ(bytes, size_t{10} << 20);
}

TEST_F(WorkerTest, ThreadsHaveWorkersOfTheirOwn) {
  options_.workers = std::make_shared<WarmWorkers>(2);
  std::vector<Record> records(40);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < 2; ++t) {
      threads.emplace_back([this, t, &records] {
        for (size_t i = t; i < records.size(); i += 2) records[i] = run(static_cast<int64_t>(i));
      });
    }
  }
  std::set<int64_t> processes;
  for (size_t i = 0; i < records.size(); ++i) {
    ASSERT_EQ(records[i].status, Status::kOk) << records[i].reason;
    EXPECT_EQ(records[i].peak->allocated, (1 << 20) + static_cast<int64_t>(i));
    processes.insert(pid_of(records[i]));
  }
  EXPECT_LE(processes.size(), 2U);
}

}  // namespace
}  // namespace headroom
