#include "bench/sweep/record_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "profiling/record/record_file.h"
#include "tests/files/scratch_directory.h"

namespace {
bool locks_exist = true;
}

// Overrides the C library's, so that a test can simulate a file system without locks.
extern "C" int flock(int fd, int operation) noexcept {
  if (locks_exist) return static_cast<int>(syscall(SYS_flock, fd, operation));
  errno = ENOLCK;
  return -1;
}

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

Record record_of(int64_t seed, size_t note_bytes = 0) {
  Record record;
  record.spec.seed = seed;
  record.status = Status::kOk;
  if (note_bytes > 0) record.notes.emplace_back(note_bytes, 'n');
  return record;
}

std::vector<int64_t> seeds_of(const std::vector<Record>& records) {
  std::vector<int64_t> seeds;
  for (const Record& record : records) seeds.push_back(record.spec.seed);
  return seeds;
}

void append_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

std::string error_of(const std::string& path) {
  try {
    const RecordLog log(path);
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  return "no error";
}

class RecordLogTest : public testing::Test {
 protected:
  // Three rows of an earlier run.
  RecordLogTest() {
    RecordLog log(path_);
    for (const int64_t seed : {1, 2, 3}) log.append(record_of(seed));
    whole_ = read_text(path_);
  }

  ScratchDirectory folder_;
  std::string path_ = folder_.file("records.jsonl");
  std::string whole_;
};

TEST_F(RecordLogTest, RowsComeBackInOrderAndNewOnesFollow) {
  {
    RecordLog log(path_);
    ASSERT_EQ(log.earlier().size(), 3U);
    EXPECT_EQ(log.earlier()[2].spec.seed, 3);
    log.append(record_of(4));
  }
  EXPECT_EQ(read_records(path_).size(), 4U);
  EXPECT_TRUE(read_text(path_).starts_with(whole_));
}

TEST_F(RecordLogTest, ATornLastLineStaysAndIsPassedOverWhereverItWasTorn) {
  const std::string line = to_json_line(record_of(4));
  for (size_t length = 1; length < line.size(); length += 97) {
    const std::string torn = whole_ + line.substr(0, length);
    write_text(path_, torn);
    std::vector<std::string> talk;
    {
      RecordLog log(path_, [&](const std::string& said) { talk.push_back(said); });
      EXPECT_EQ(log.earlier().size(), 3U);
      ASSERT_EQ(talk.size(), 1U);
      EXPECT_THAT(talk[0], HasSubstr("line 4 is torn"));
      EXPECT_EQ(read_text(path_), torn) << "opening changes nothing";
      log.append(record_of(5));
      log.append(record_of(6));
    }
    EXPECT_EQ(read_text(path_),
              torn + "\n" + to_json_line(record_of(5)) + "\n" + to_json_line(record_of(6)) + "\n");
    const RecordLog again(path_);
    EXPECT_EQ(seeds_of(again.earlier()), (std::vector<int64_t>{1, 2, 3, 5, 6}));
  }
}

TEST_F(RecordLogTest, ALineThatLacksOnlyItsNewlineIsKept) {
  write_text(path_, whole_ + to_json_line(record_of(4)));
  RecordLog log(path_);
  EXPECT_EQ(log.earlier().size(), 4U);
  log.append(record_of(5));
  EXPECT_EQ(read_records(path_).size(), 5U);
}

// `sweep ... >> records.jsonl` takes no lock.
TEST_F(RecordLogTest, WhatAnotherProgramAppendsMeanwhileStays) {
  {
    RecordLog log(path_);
    append_text(path_, to_json_line(record_of(10)) + "\n");
    log.append(record_of(4));
    append_text(path_, to_json_line(record_of(11)) + "\n");
  }
  EXPECT_EQ(seeds_of(read_records(path_)), (std::vector<int64_t>{1, 2, 3, 10, 4, 11}));
}

TEST_F(RecordLogTest, ARowIsNotGluedToWhatAnotherProgramLeftTorn) {
  RecordLog log(path_);
  append_text(path_, to_json_line(record_of(10)).substr(0, 50));
  log.append(record_of(4));
  EXPECT_EQ(seeds_of(read_records(path_)), (std::vector<int64_t>{1, 2, 3, 4}));
}

TEST_F(RecordLogTest, TwoSweepsAtOnceWithoutLocksLoseNothing) {
  constexpr int kRows = 200;
  locks_exist = false;
  // Long and short rows, in a file that is reopened now and then, as by sweeps.
  const auto append_rows = [&](int64_t first) {
    std::unique_ptr<RecordLog> log;
    for (int row = 0; row < kRows; ++row) {
      if (row % 10 == 0) log.reset();
      if (!log) log = std::make_unique<RecordLog>(path_);
      log->append(record_of(first + row, row % 7 == 0 ? 20000 : 0));
    }
  };
  const pid_t child = fork();
  if (child == 0) {
    try {
      append_rows(1000);
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }
  EXPECT_NO_THROW(append_rows(2000));
  int status = 0;
  waitpid(child, &status, 0);
  locks_exist = true;
  EXPECT_EQ(status, 0);
  std::vector<int64_t> expected = {1, 2, 3};
  for (const int first : {1000, 2000}) {
    for (int row = 0; row < kRows; ++row) expected.push_back(first + row);
  }
  SkippedLines skipped;
  EXPECT_THAT(seeds_of(read_records(path_, &skipped)),
              testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(skipped.count, 0);
}

TEST_F(RecordLogTest, AFileOfSomethingElseIsRefusedAndUntouched) {
  for (const std::string text :
       {"# My notes", "# My notes\n{\"a\": 1", "{\"a\": 1}\n{\"a\": 2}\n"}) {
    write_text(path_, text);
    EXPECT_NE(error_of(path_), "no error") << text;
    EXPECT_EQ(read_text(path_), text);
  }
}

TEST_F(RecordLogTest, OneLineOfSomethingElseAmongRecordsIsNamedAndStays) {
  write_text(path_, "{\"a\": 1}\n" + whole_ + "# a note\n");
  std::vector<std::string> talk;
  const RecordLog log(path_, [&](const std::string& said) { talk.push_back(said); });
  EXPECT_EQ(seeds_of(log.earlier()), (std::vector<int64_t>{1, 2, 3}));
  ASSERT_EQ(talk.size(), 2U);
  EXPECT_THAT(talk[0], HasSubstr("line 1 is no Record"));
  EXPECT_THAT(talk[1], HasSubstr("line 5 is no JSON"));
}

TEST_F(RecordLogTest, TwoSweepsDoNotShareAFile) {
  const RecordLog log(path_);
  EXPECT_THAT(error_of(path_), HasSubstr("another sweep"));
}

TEST_F(RecordLogTest, WhatCannotBeWrittenIsRefusedOnOpening) {
  EXPECT_THAT(error_of("/dev/full"), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of(folder_.file("none/records.jsonl")), HasSubstr("No such file or directory"));
  EXPECT_THAT(error_of(path_ + "/records.jsonl"), HasSubstr("Not a directory"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("none")));
}

TEST_F(RecordLogTest, AWriteThatStopsHalfWayCostsItsOwnRowOnly) {
  RecordLog log(path_);
  append_text(path_, to_json_line(record_of(10)) + "\n");  // of another program
  const std::string before = read_text(path_);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit tight = limit;
  tight.rlim_cur = before.size() + 100;  // room for a part of the next line
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  EXPECT_THROW(log.append(record_of(4)), std::runtime_error);
  setrlimit(RLIMIT_FSIZE, &limit);
  signal(SIGXFSZ, handler);
  EXPECT_TRUE(read_text(path_).starts_with(before));
  log.append(record_of(5));
  EXPECT_EQ(seeds_of(read_records(path_)), (std::vector<int64_t>{1, 2, 3, 10, 5}));
}

// A disk of 256 KiB, visible only to this process and removed with it.
bool mount_small_disk(const std::string& folder) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=256k") == 0;
}

TEST_F(RecordLogTest, AFullDiskCostsTheRowThatDidNotFit) {
  const std::string disk = folder_.file("disk");
  std::filesystem::create_directory(disk);
  if (!mount_small_disk(disk)) GTEST_SKIP() << "cannot mount here: " << strerror(errno);
  const std::string path = disk + "/records.jsonl";
  size_t written = 0;
  std::string message;
  {
    RecordLog log(path);
    try {
      for (; written < 100; ++written) log.append(record_of(1, 30000));
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
  }
  EXPECT_EQ(message, "cannot write " + path + ": No space left on device");
  EXPECT_GT(written, 2U);
  EXPECT_EQ(read_records(path).size(), written);

  // Full from the start: nothing runs and no file remains.
  write_text(disk + "/filler", std::string(256 << 10, 'f'));
  EXPECT_THAT(error_of(disk + "/other.jsonl"), HasSubstr("No space left on device"));
  EXPECT_FALSE(std::filesystem::exists(disk + "/other.jsonl"));
  umount2(disk.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace headroom
