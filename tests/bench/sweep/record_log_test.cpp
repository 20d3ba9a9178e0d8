#include "bench/sweep/record_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "tests/files/scratch_directory.h"

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

TEST_F(RecordLogTest, ATornLastLineIsCutWhereverItWasTorn) {
  const std::string line = to_json_line(record_of(4));
  for (size_t length = 1; length < line.size(); length += 97) {
    write_text(path_, whole_ + line.substr(0, length));
    std::vector<std::string> talk;
    RecordLog log(path_, [&](const std::string& said) { talk.push_back(said); });
    EXPECT_EQ(log.earlier().size(), 3U);
    ASSERT_EQ(talk.size(), 1U);
    EXPECT_THAT(talk[0], HasSubstr("torn last line of " + std::to_string(length) + " bytes"));
    EXPECT_EQ(read_text(path_), whole_);
    log.append(record_of(5));
    EXPECT_EQ(read_records(path_).back().spec.seed, 5);
  }
}

TEST_F(RecordLogTest, ALongTornLineIsCutTheSameWay) {
  const std::string line = to_json_line(record_of(4, 200000));
  write_text(path_, whole_ + line.substr(0, line.size() - 1));
  { const RecordLog log(path_); }
  EXPECT_EQ(read_text(path_), whole_);
  const std::string only = folder_.file("only.jsonl");
  write_text(only, line.substr(0, line.size() - 1));
  { const RecordLog log(only); }
  EXPECT_EQ(read_text(only), "");
}

TEST_F(RecordLogTest, ALineThatLacksOnlyItsNewlineIsKept) {
  write_text(path_, whole_ + to_json_line(record_of(4)));
  RecordLog log(path_);
  EXPECT_EQ(log.earlier().size(), 4U);
  log.append(record_of(5));
  EXPECT_EQ(read_records(path_).size(), 5U);
}

TEST_F(RecordLogTest, AFileOfSomethingElseIsRefusedAndUntouched) {
  for (const std::string& text :
       {std::string("# My notes"), std::string("# My notes\n{\"a\": 1"), "{\"a\": 1}\n" + whole_}) {
    write_text(path_, text);
    EXPECT_NE(error_of(path_), "no error") << text;
    EXPECT_EQ(read_text(path_), text);
  }
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

TEST_F(RecordLogTest, AWriteThatStopsHalfWayLeavesWholeLinesOnly) {
  RecordLog log(path_);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit tight = before;
  tight.rlim_cur = whole_.size() + 100;  // room for a part of the next line
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  EXPECT_THROW(log.append(record_of(4)), std::runtime_error);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(read_text(path_), whole_);
  log.append(record_of(5));
  EXPECT_EQ(read_records(path_).size(), 4U);
}

// A disk of 256 KiB, seen by this process only and gone with it.
bool mount_small_disk(const std::string& folder) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=256k") == 0;
}

TEST_F(RecordLogTest, AFullDiskLeavesWholeLinesOnly) {
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
  bool torn = false;
  EXPECT_EQ(read_records(path, &torn).size(), written);
  EXPECT_FALSE(torn);
  EXPECT_EQ(read_text(path).back(), '\n');

  // Full from the start: nothing is run and nothing is left.
  write_text(disk + "/filler", std::string(256 << 10, 'f'));
  EXPECT_THAT(error_of(disk + "/other.jsonl"), HasSubstr("No space left on device"));
  EXPECT_FALSE(std::filesystem::exists(disk + "/other.jsonl"));
  umount2(disk.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace headroom
