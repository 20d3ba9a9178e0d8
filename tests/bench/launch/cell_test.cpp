#include "bench/launch/cell.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "bench/launch/ending.h"
#include "bench/process/child_process.h"
#include "bench/process/line_splitter.h"
#include "tests/bench/launch/stub_cell.h"
#include "tests/bench/process/process_state.h"
#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

CellOptions stub() { return {.program = STUB_CELL}; }

Record run_stub(int64_t seed, const CellOptions& options = stub()) {
  return run_cell({.seed = seed}, options);
}

TEST(Cell, TheCellsOwnRecordComesBack) {
  CellOptions options = stub();
  options.host_memory_bytes = 123456789;
  const Record record = run_cell({.context_length = 128, .seed = 7}, options);
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.spec.context_length, 128);
  EXPECT_EQ(record.peak->allocated, (1 << 20) + 7);
  EXPECT_EQ(record.environment["host_memory_bytes"], 123456789);
  EXPECT_EQ(record.environment["cell"]["pid"], record.environment["pid"]);
  EXPECT_EQ(record.environment["group"], record.environment["pid"]) << "no group of its own";
  EXPECT_GT(record.environment["cell"]["max_rss_bytes"], 1 << 20);
}

TEST(Cell, AnOutOfMemoryIsItsStatusWhateverElseTheRecordHolds) {
  const Record record = run_stub(kStubOom);
  EXPECT_EQ(record.status, Status::kOom);
  EXPECT_TRUE(record.peak.has_value());
}

TEST(Cell, AnExitWithoutRecordNamesCodeAndLastLine) {
  std::vector<std::string> talk;
  CellOptions options = stub();
  options.on_talk = [&](const std::string& line) { talk.push_back(line); };
  const Record record = run_stub(kStubExit, options);
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_EQ(record.reason, "exit code 7: terminate: weights are missing");
  EXPECT_EQ(record.spec.seed, kStubExit);
  EXPECT_THAT(
      talk, ElementsAre("warming up", "terminate: weights are missing", "frame #0: somewhere", ""));
}

TEST(Cell, AKillIsNotBlamedOnMemoryWithoutEvidence) {
  const Record record = run_stub(kStubKilled);
  EXPECT_EQ(record.status, Status::kKilled);
  EXPECT_EQ(record.reason, "killed by signal 9 (SIGKILL)");
}

TEST(Cell, AKillThatTheKernelCountedIsBlamedOnMemory) {
  const ScratchDirectory folder;
  const std::string control = folder.file("cgroup/memory/g/memory.oom_control");
  write_text(folder.file("proc/self/cgroup"), "4:memory:/g\n");
  write_text(control, "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  CellOptions options = stub();
  options.kernel = {folder.file("proc"), folder.file("cgroup")};
  EXPECT_EQ(run_stub(kStubKilled, options).reason, "killed by signal 9 (SIGKILL)");
  setenv("STUB_OOM_CONTROL", control.c_str(), 1);
  const Record record = run_stub(kStubOomKilled, options);
  unsetenv("STUB_OOM_CONTROL");
  EXPECT_EQ(record.status, Status::kKilled);
  EXPECT_EQ(record.reason, "killed by signal 9 (SIGKILL); the kernel's out-of-memory killer ran");
}

TEST(Cell, AHangingCellEndsAtItsDeadline) {
  CellOptions options = stub();
  options.deadline_seconds = 0.25;
  pid_t hanging = 0;
  options.on_talk = [&](const std::string& line) { hanging = atoi(line.substr(8).c_str()); };
  const auto start = std::chrono::steady_clock::now();
  const Record record = run_stub(kStubHang, options);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(record.status, Status::kTimeout);
  EXPECT_EQ(record.reason, "killed after its deadline of 0.25 s");
  ASSERT_GT(hanging, 0);
  EXPECT_TRUE(is_dead(hanging));
}

TEST(Cell, WhatIsNotOneRecordIsAFailure) {
  for (const int seed : {kStubHalf, kStubNoRecord, kStubTwoRecords}) {
    const Record record = run_stub(seed);
    EXPECT_EQ(record.status, Status::kFailed) << seed;
    EXPECT_THAT(record.reason, HasSubstr("no Record on stdout")) << seed;
    EXPECT_THAT(record.reason, Not(HasSubstr("\n"))) << seed;
    EXPECT_FALSE(record.peak.has_value()) << seed;
  }
}

TEST(Cell, MuchTalkAndLongRecordsDoNotDeadlock) {
  CellOptions options = stub();
  options.deadline_seconds = 30;
  int64_t bytes = 0;
  options.on_talk = [&](const std::string& line) {
    bytes += static_cast<int64_t>(line.size()) + 1;
  };
  EXPECT_EQ(run_stub(kStubTalkative, options).status, Status::kOk);
  EXPECT_EQ(bytes, 10 << 20);
  const Record record = run_stub(kStubLong, options);
  ASSERT_EQ(record.notes.size(), 1U);
  EXPECT_EQ(record.notes[0].size(), size_t{10} << 20);
}

TEST(Cell, AFloodIsStopped) {
  const Record record = run_stub(kStubFlood);
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_THAT(record.reason, HasSubstr("64 MiB"));
}

TEST(Cell, AProcessLeftBehindIsEndedAndDoesNotHoldTheSweep) {
  const auto start = std::chrono::steady_clock::now();
  CellOptions options = stub();
  pid_t left = 0;
  options.on_talk = [&](const std::string& line) { left = atoi(line.substr(5).c_str()); };
  EXPECT_EQ(run_stub(kStubGrandchild, options).status, Status::kOk);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  ASSERT_GT(left, 0);
  EXPECT_TRUE(is_dead(left));
}

TEST(Cell, ACrashAfterTheRecordKeepsTheRecordAndSaysSo) {
  const Record record = run_stub(kStubCrashAfter);
  EXPECT_EQ(record.status, Status::kOk);
  ASSERT_EQ(record.notes.size(), 1U);
  EXPECT_THAT(record.notes[0], HasSubstr("6 (SIGABRT)"));
}

TEST(Cell, TheRunsAllocatorSettingsReplaceThoseOfTheEnvironment) {
  setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64", 1);
  setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:32", 1);
  const Record inherited = run_stub(1);
  const Record own = run_cell({.alloc_conf = "expandable_segments:True"}, stub());
  unsetenv("PYTORCH_CUDA_ALLOC_CONF");
  unsetenv("PYTORCH_ALLOC_CONF");
  EXPECT_EQ(inherited.environment["cuda_alloc_conf"], "max_split_size_mb:64");
  EXPECT_EQ(inherited.environment["alloc_conf"], "max_split_size_mb:32");
  EXPECT_EQ(own.environment["cuda_alloc_conf"], "expandable_segments:True");
  EXPECT_EQ(own.environment["alloc_conf"], "(unset)");
}

std::vector<Record> run_stubs(const std::vector<int64_t>& seeds,
                              const CellOptions& options = stub()) {
  std::vector<RunSpec> specs;
  for (const int64_t seed : seeds) specs.push_back({.seed = seed});
  std::vector<Record> records;
  run_cells(specs, options, [&](Record record) { records.push_back(std::move(record)); });
  return records;
}

std::vector<Status> statuses(const std::vector<Record>& records) {
  std::vector<Status> list;
  for (const Record& record : records) list.push_back(record.status);
  return list;
}

TEST(CellsInOneProcess, ComeInOrderAndSayHowManyRanBefore) {
  const std::vector<Record> records = run_stubs({7, kStubOom, 9});
  EXPECT_THAT(statuses(records), ElementsAre(Status::kOk, Status::kOom, Status::kOk));
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].environment["pid"], records[0].environment["pid"]) << i;
    EXPECT_EQ(records[i].environment["cell"]["one_process"], true) << i;
    EXPECT_EQ(records[i].environment["cell"]["cells_before"], i) << i;
  }
  const Record alone = run_stub(7);
  EXPECT_EQ(alone.environment["cell"]["one_process"], false);
  EXPECT_EQ(alone.environment["cell"]["cells_before"], 0);
}

TEST(CellsInOneProcess, OneThatDiesHasARowAndTheRestIsForAnotherProcess) {
  CellOptions options = stub();
  options.deadline_seconds = 4;  // the first ends by itself, even on a busy machine
  EXPECT_THAT(statuses(run_stubs({1, kStubHang, 2}, options)),
              ElementsAre(Status::kOk, Status::kTimeout));
  options.deadline_seconds = 60;
  EXPECT_THAT(statuses(run_stubs({1, kStubKilled, 2}, options)),
              ElementsAre(Status::kOk, Status::kKilled));
  EXPECT_THAT(statuses(run_stubs({kStubExit, 2}, options)), ElementsAre(Status::kFailed));
  EXPECT_THAT(statuses(run_stubs({1, kStubNoRecord, 2}, options)),
              ElementsAre(Status::kOk, Status::kFailed));
  EXPECT_THAT(statuses(run_stubs({1, 2}, {.program = "/nonexistent"})),
              ElementsAre(Status::kFailed));
}

// A failure has its own row; the cell that did not start gets none.
TEST(CellsInOneProcess, OneThatFailsEndsTheProcess) {
  EXPECT_THAT(statuses(run_stubs({1, kStubFailed, 2})), ElementsAre(Status::kOk, Status::kFailed));
}

TEST(CellsInOneProcess, TheyShareOneCardAndOneAllocConf) {
  const auto refused = [](const RunSpec& a, const RunSpec& b) {
    return message_of<UsageError>([&] { check_one_process({a, b}); });
  };
  const RunSpec h200{.device = parse_device("virtual:h200")};
  const RunSpec a100{.device = parse_device("virtual:a100-80gb")};
  EXPECT_THAT(refused(h200, a100), HasSubstr("virtual:a100-80gb"));
  EXPECT_THAT(refused(h200, {.device = parse_device("cpu")}), HasSubstr("--one-process"));
  EXPECT_THAT(refused({.alloc_conf = "expandable_segments:True"}, {}), HasSubstr("--alloc-conf"));
  EXPECT_NO_THROW(check_one_process({h200, h200}));
}

TEST(Cell, WhatNobodyCaughtIsTheReasonOfAnAbort) {
  std::vector<std::string> passed_on;
  const std::function<void(const std::string&)> keep = [&](const std::string& line) {
    passed_on.push_back(line);
  };
  StderrRelay talk(keep);
  Outcome outcome;
  outcome.signal = SIGABRT;
  EXPECT_EQ(ending(outcome, talk), "killed by signal 6 (SIGABRT)");
  for (const char* line : {"terminate called", "  what():  Unrecognized key", "frame #0: x"}) {
    talk.listener()(line);
  }
  EXPECT_EQ(ending(outcome, talk), "killed by signal 6 (SIGABRT): Unrecognized key");
  EXPECT_EQ(passed_on.size(), 3U);
}

TEST(Cell, AMissingProgramIsOneLine) {
  const CellOptions options = {.program = "/nonexistent/headroom-cell"};
  EXPECT_EQ(run_stub(1, options).reason,
            "cannot run /nonexistent/headroom-cell: No such file or directory");
  EXPECT_THROW(cell_identity(options), std::runtime_error);
}

TEST(Cell, TheProgramIsFoundBesideThisOneUnlessTheEnvironmentNamesOne) {
  EXPECT_THAT(cell_program({}), testing::EndsWith("/headroom-cell"));
  setenv("HEADROOM_CELL", STUB_CELL, 1);
  EXPECT_EQ(cell_program({}), STUB_CELL);
  EXPECT_EQ(cell_identity({})["build"], "b1");
  unsetenv("HEADROOM_CELL");
}

// A cell's own stdout is for its Record.
TEST(Cell, TheStreamsOfTheUserAreNotTheCells) {
  const ScratchDirectory scratch;
  const std::string path = scratch.write("out", "");
  const int before = dup(STDOUT_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  dup2(file, STDOUT_FILENO);
  const Record record = run_cell({.snapshot = "/dev/stdout"}, stub());
  dup2(before, STDOUT_FILENO);
  for (const int descriptor : {before, file}) close(descriptor);
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.spec.snapshot, "/dev/stdout");
  EXPECT_EQ(read_text(path), "a snapshot");
}

TEST(Cell, NamesOfFilesAreAnyBytes) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("\xff\xfe \xc3\xa9.pickle");
  const Record record = run_cell({.snapshot = path}, stub());
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.spec.snapshot, path);
  EXPECT_EQ(read_text(path), "a snapshot");
}

TEST(Cell, AnAnswerToIdentityThatIsNoneIsAnError) {
  for (const char* answer : {"", "[]", "{\"build\": 1}", "not json"}) {
    setenv("STUB_IDENTITY", answer, 1);
    EXPECT_THROW(cell_identity(stub()), std::runtime_error) << answer;
  }
  unsetenv("STUB_IDENTITY");
}

TEST(ChildProcess, AnExceptionFromTheCallerLeavesNoChildBehind) {
  CellOptions options = stub();
  pid_t hanging = 0;
  options.on_talk = [&](const std::string& line) {
    hanging = atoi(line.substr(8).c_str());
    throw std::length_error("the listener gave up");
  };
  EXPECT_EQ(message_of<std::length_error>([&] { run_stub(kStubHang, options); }),
            "the listener gave up");
  ASSERT_GT(hanging, 0);
  // Not even a zombie.
  EXPECT_EQ(kill(hanging, 0), -1);
  EXPECT_EQ(errno, ESRCH);
  if (kill(hanging, 0) == 0) kill(hanging, SIGKILL);
}

TEST(LineSplitter, LinesAreTheSameHoweverTheStreamIsCut) {
  const std::string stream =
      "one\r\n\ntwo\n" + std::string(LineSplitter::kMaxLine + 5, 'x') + "\nlast\nframe #3: f()\n  ";
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{65536}, stream.size()}) {
    std::vector<std::string> lines;
    const std::function<void(const std::string&)> keep = [&](const std::string& line) {
      lines.push_back(line);
    };
    LineSplitter splitter(keep);
    for (size_t at = 0; at < stream.size(); at += piece) {
      splitter.add(stream.data() + at, std::min(piece, stream.size() - at));
    }
    EXPECT_EQ(splitter.finish(), "last");
    EXPECT_THAT(lines, ElementsAre("one", "", "two", std::string(LineSplitter::kMaxLine, 'x'),
                                   "xxxxx", "last", "frame #3: f()", "  "));
  }
}

TEST(Cell, DescriptorsDoNotLeak) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  const auto before = count();
  for (const int seed : {1, static_cast<int>(kStubKilled), static_cast<int>(kStubExit)}) {
    run_stub(seed);
  }
  run_stub(1, {.program = "/nonexistent"});
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace headroom
