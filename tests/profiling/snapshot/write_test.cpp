#include "profiling/snapshot/write.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "files/whole_file.h"
#include "profiling/snapshot/read.h"
#include "profiling/snapshot/validate.h"
#include "tests/files/scratch_directory.h"
#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class SnapshotWrite : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return directory_.file(name); }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(directory_.path()), {}));
  }

  ScratchDirectory directory_;
};

std::vector<std::string> texts(const std::vector<SnapshotProblem>& problems) {
  std::vector<std::string> lines;
  lines.reserve(problems.size());
  for (const SnapshotProblem& problem : problems) lines.push_back(problem.text);
  return lines;
}

// The reader may renumber stacks, but not change their content.
std::vector<std::string> stack_text(const Snapshot& snapshot, int32_t stack) {
  std::vector<std::string> lines;
  if (stack < 0) return lines;
  for (const int32_t index : snapshot.stacks.at(stack)) {
    const Frame& frame = snapshot.frames.at(index);
    lines.push_back(frame.name + "|" + frame.filename + "|" + std::to_string(frame.line));
  }
  return lines;
}

void expect_same_event(const Snapshot& a, const TraceEvent& x, const Snapshot& b,
                       const TraceEvent& y) {
  EXPECT_EQ(x.action, y.action);
  EXPECT_EQ(x.address, y.address);
  EXPECT_EQ(x.size, y.size);
  EXPECT_EQ(x.stream, y.stream);
  EXPECT_EQ(x.time_us, y.time_us);
  EXPECT_EQ(stack_text(a, x.stack), stack_text(b, y.stack));
  const auto label_text = [](const Snapshot& snapshot, int32_t label) {
    return label < 0 ? "" : snapshot.labels.at(static_cast<size_t>(label));
  };
  EXPECT_EQ(label_text(a, x.label), label_text(b, y.label));
}

TEST_F(SnapshotWrite, WhatIsWrittenIsReadBack) {
  Snapshot written = make_sample(5000).snapshot;
  written.frames[6].name = "non-ASCII \xc3\xa9";  // invalid bytes are not preserved, see below
  written.settings.alloc_conf = "max_split_size_mb:64";
  written.settings.max_split_size = 64 << 20;
  written.settings.garbage_collection_threshold = 0.75;
  written.settings.expandable_segments = true;
  written.settings.roundup_power2_divisions[15] = 8;
  written.segments[0].pool_id[1] = 3;
  written.segments[0].is_large = false;
  written.segments[0].stream = 94;
  write_snapshot(written, path("a.pickle"));
  const Snapshot read = read_snapshot(path("a.pickle"));

  ASSERT_THAT(read.device_traces, SizeIs(2));
  EXPECT_THAT(read.device_traces[1], IsEmpty());
  ASSERT_EQ(read.device_traces[0].size(), written.device_traces[0].size());
  for (size_t i = 0; i < read.device_traces[0].size(); ++i) {
    expect_same_event(written, written.device_traces[0][i], read, read.device_traces[0][i]);
  }
  ASSERT_EQ(read.segments.size(), written.segments.size());
  for (size_t i = 0; i < read.segments.size(); ++i) {
    const Segment& x = written.segments[i];
    const Segment& y = read.segments[i];
    EXPECT_EQ(x.address, y.address);
    EXPECT_EQ(x.total_size, y.total_size);
    EXPECT_EQ(x.allocated_size, y.allocated_size);
    EXPECT_EQ(x.active_size, y.active_size);
    EXPECT_EQ(x.requested_size, y.requested_size);
    EXPECT_EQ(x.stream, y.stream);
    EXPECT_EQ(x.is_large, y.is_large);
    EXPECT_EQ(x.pool_id[1], y.pool_id[1]);
    ASSERT_EQ(x.blocks.size(), y.blocks.size());
    for (size_t j = 0; j < x.blocks.size(); ++j) {
      EXPECT_EQ(x.blocks[j].address, y.blocks[j].address);
      EXPECT_EQ(x.blocks[j].size, y.blocks[j].size);
      EXPECT_EQ(x.blocks[j].requested_size, y.blocks[j].requested_size);
      EXPECT_EQ(x.blocks[j].state, y.blocks[j].state);
      EXPECT_EQ(stack_text(written, x.blocks[j].stack), stack_text(read, y.blocks[j].stack));
    }
  }
  ASSERT_EQ(read.annotations.size(), written.annotations.size());
  EXPECT_EQ(read.annotations.back().name, written.annotations.back().name);
  EXPECT_EQ(read.annotations.back().time_us, written.annotations.back().time_us);
  EXPECT_EQ(read.settings.alloc_conf, "max_split_size_mb:64");
  EXPECT_EQ(read.settings.max_split_size, 64 << 20);
  EXPECT_EQ(read.settings.garbage_collection_threshold, 0.75);
  EXPECT_TRUE(read.settings.expandable_segments);
  EXPECT_EQ(read.settings.roundup_power2_divisions[15], 8);
}

TEST_F(SnapshotWrite, NumbersOfEveryWidthSurvive) {
  Snapshot snapshot;
  snapshot.device_traces.resize(1);
  for (int bit = 0; bit < 63; ++bit) {
    for (const int64_t near : {-1, 0, 1}) {
      const int64_t value = (int64_t{1} << bit) + near;
      snapshot.device_traces[0].push_back(
          {.address = static_cast<uint64_t>(value), .time_us = -value});
    }
  }
  snapshot.device_traces[0].push_back({.address = UINT64_MAX, .time_us = INT64_MIN});
  write_snapshot(snapshot, path("a.pickle"));
  const SnapshotFile read = read_snapshot_file(path("a.pickle"));
  ASSERT_EQ(read.snapshot.device_traces[0].size(), snapshot.device_traces[0].size());
  for (size_t i = 0; i < snapshot.device_traces[0].size(); ++i) {
    expect_same_event(snapshot, snapshot.device_traces[0][i], read.snapshot,
                      read.snapshot.device_traces[0][i]);
  }
  EXPECT_EQ(read.facts.big_integers, 1);
  EXPECT_THAT(read.problems,
              testing::Contains(testing::Field(&SnapshotProblem::text,
                                               HasSubstr("'addr' has more than 8 bytes"))));
}

TEST_F(SnapshotWrite, ALineIsShownAndNotAddedUp) {
  Snapshot snapshot;
  snapshot.frames = {{"call", "a.py", -1}};
  snapshot.stacks = {{0}};
  snapshot.device_traces = {{{.address = 4096, .size = 512, .stack = 0}}};
  write_snapshot(snapshot, path("a.pickle"));
  std::string bytes = read_whole_file(path("a.pickle"), 1 << 20);
  const std::string minus_one("J\xff\xff\xff\xff", 5);
  const size_t at = bytes.find(minus_one);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, minus_one.size(),
                std::string("\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00", 11));
  const SnapshotFile read = parse_snapshot(bytes);
  EXPECT_EQ(read.facts.big_integers, 1);
  EXPECT_EQ(read.snapshot.frames.at(0).line, -1);
  EXPECT_THAT(read.problems, testing::Each(testing::Field(&SnapshotProblem::is_error, false)));
}

TEST_F(SnapshotWrite, BytesThatAreNotUtf8AreReplaced) {
  Snapshot snapshot;
  snapshot.annotations.push_back({.name = "a\xff"
                                          "b\xc3\xa9\xe2\x82"});
  write_snapshot(snapshot, path("a.pickle"));
  EXPECT_EQ(read_snapshot(path("a.pickle")).annotations.at(0).name,
            "a\xEF\xBF\xBD"
            "b\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_F(SnapshotWrite, ThreeHundredThousandEventsStaySmallAndBatched) {
  const SnapshotSample sample = make_sample(300'000);
  write_snapshot(sample.snapshot, path("big.pickle"));
  EXPECT_LT(std::filesystem::file_size(path("big.pickle")), 30'000'000);
  const SnapshotFile read = read_snapshot_file(path("big.pickle"));
  EXPECT_EQ(read.snapshot.device_traces[0].size(), sample.snapshot.device_traces[0].size());
  EXPECT_EQ(read.facts.largest_batch, 1000);
  EXPECT_EQ(read.facts.protocol, 2);
  EXPECT_EQ(read.snapshot.stacks.size(), sample.snapshot.stacks.size());
  EXPECT_THAT(texts(validate_snapshot(read)), IsEmpty());
}

TEST_F(SnapshotWrite, AFailedWriteKeepsTheOldFileAndSaysWhy) {
  const std::string file = path("old.pickle");
  write_snapshot(make_sample(100).snapshot, file);
  const auto size = std::filesystem::file_size(file);

  // A file size limit of a megabyte simulates a full disk.
  rlimit unlimited{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit small{.rlim_cur = 1 << 20, .rlim_max = unlimited.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write_snapshot(make_sample(50'000).snapshot, file), std::runtime_error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);

  EXPECT_THROW(write_snapshot(make_sample(10).snapshot, path("no/such/dir/a.pickle")),
               std::runtime_error);
  try {
    write_snapshot(make_sample(100).snapshot, "/dev/full");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/dev/full"));
    EXPECT_THAT(error.what(), HasSubstr("No space left"));
  }
  struct stat status {};
  ASSERT_EQ(stat("/dev/full", &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode)) << "the device was replaced by a file";
  EXPECT_EQ(std::filesystem::file_size(file), size);
  EXPECT_EQ(files(), 1);
}

TEST_F(SnapshotWrite, ALinkIsFollowedAndModesAreKept) {
  write_snapshot(make_sample(10).snapshot, path("real.pickle"));
  std::filesystem::create_symlink("real.pickle", path("link.pickle"));
  chmod(path("real.pickle").c_str(), 0640);
  write_snapshot(make_sample(3000).snapshot, path("link.pickle"));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.pickle")));
  EXPECT_GT(read_snapshot(path("real.pickle")).device_traces[0].size(), 2000);
  struct stat status {};
  ASSERT_EQ(stat(path("real.pickle").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640);
  EXPECT_EQ(files(), 2);
}

}  // namespace
}  // namespace headroom
