#include "profiling/record/record_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <ctime>
#include <fstream>

#include "files/line_reader.h"
#include "files/mapped_file.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Record record_of(int64_t seed, Status status = Status::kOk, int64_t pid = 1) {
  Record record;
  record.spec.seed = seed;
  record.status = status;
  record.environment = {{"device", "cpu"},
                        {"key", "k" + std::to_string(seed)},
                        {"time_utc", "2026-11-22T00:00:" + std::to_string(pid)},
                        {"cell", {{"pid", pid}, {"host_memory_bytes", 100}}}};
  record.peak = MemoryBytes{pid, pid, pid};
  return record;
}

class RecordFile : public testing::Test {
 protected:
  void write(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write_text(path_, text);
  }
  std::vector<std::string> talk() const {
    return in_words(read_latest_records(path_).skipped, "r.jsonl");
  }
  // "seed peak", in order.
  std::vector<std::string> latest() const {
    std::vector<std::string> rows;
    for (const Record& record : read_latest_records(path_).records) {
      rows.push_back(std::to_string(record.spec.seed) + " " +
                     std::to_string(record.peak->allocated));
    }
    return rows;
  }
  ScratchDirectory scratch_;
  std::string path_ = scratch_.file("records.jsonl");
  std::string line_ = to_json_line(record_of(1));
};

TEST_F(RecordFile, ATornLineIsPassedOverAndNamedWhereverItStands) {
  write_text(path_,
             line_.substr(0, 20) + "\n" + line_ + "\n\n" + line_.substr(0, line_.size() / 2));
  EXPECT_EQ(read_latest_records(path_).records.size(), 1U);
  EXPECT_EQ(read_records(path_).size(), 1U);
  EXPECT_THAT(talk(), ElementsAre(HasSubstr("r.jsonl: line 1 is torn"),
                                  HasSubstr("r.jsonl: line 4 is torn")));
}

TEST_F(RecordFile, ATailOfNulsIsPassedOverAndNamed) {
  write_text(path_, line_ + "\n" + std::string(100000, '\0'));
  EXPECT_EQ(read_latest_records(path_).records.size(), 1U);
  EXPECT_THAT(talk(), ElementsAre("r.jsonl: line 2 is NULs only and is passed over"));
}

TEST_F(RecordFile, OneBadLineCostsNoOther) {
  nlohmann::json newer = to_json(record_of(2));
  newer["schema_version"] = 99;
  nlohmann::json wrong = to_json(record_of(3));
  wrong["spec"]["batch_size"] = "many";
  write({line_, "# a note", newer.dump(), wrong.dump(), "{\"a\": 1}", "[1, 2]", "7",
         to_json_line(record_of(4))});
  EXPECT_THAT(latest(), ElementsAre("1 1", "4 1"));
  const std::vector<std::string> said = talk();
  EXPECT_EQ(said.size(), SkippedLines::kNamed + 1) << "the first few, and how many more";
  EXPECT_THAT(said[0], HasSubstr("line 2 is no JSON"));
  EXPECT_THAT(said.back(), HasSubstr("1 more lines"));
  SkippedLines skipped;
  EXPECT_EQ(read_records(path_, &skipped).size(), 2U);
  EXPECT_EQ(skipped.count, 6);
  EXPECT_THAT(skipped.first[1].why, HasSubstr("schema version 99"));
  EXPECT_THAT(skipped.first[2].why, HasSubstr("batch-size"));
}

TEST_F(RecordFile, WhatIsNoFileOfRecordsIsRefusedWithItsLine) {
  for (const char* bad : {"# a note", "{\"a\": 1}", "[1, 2]", "a 1.5 MiB"}) {
    write({bad, bad});
    for (const auto& read : {+[](const std::string& path) { read_records(path); },
                             +[](const std::string& path) { read_latest_records(path); }}) {
      EXPECT_TRUE(message_of<std::runtime_error>([&] { read(path_); }).starts_with(path_ + ":1: "))
          << bad;
    }
  }
  write_text(path_, "");
  EXPECT_TRUE(read_records(path_).empty());
  write_text(path_, line_.substr(0, 20));
  EXPECT_TRUE(read_records(path_).empty()) << "a first row that was torn";
}

TEST_F(RecordFile, ANumberThatNothingHoldsIsNoTornLine) {
  nlohmann::json record = to_json(record_of(1));
  record["step_ms"] = {1.5};
  std::string line = record.dump();
  line.replace(line.find("[1.5]"), 5, "[" + std::string(310, '1') + "]");
  write({line});
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_records(path_); }),
              HasSubstr(":1: this line is no Record: it has a number that is too large"));
  write({line, line_});
  EXPECT_THAT(talk(), ElementsAre(HasSubstr("line 1 is no Record: it has a number")));
}

TEST_F(RecordFile, OfRowsThatStandForEachOtherTheNewestIsLeft) {
  write({to_json_line(record_of(1, Status::kOk, 1)), to_json_line(record_of(2, Status::kOk, 2)),
         to_json_line(record_of(1, Status::kOk, 3)), to_json_line(record_of(3, Status::kOk, 4)),
         to_json_line(record_of(1, Status::kOk, 5))});
  EXPECT_THAT(latest(), ElementsAre("1 5", "2 2", "3 4"));
  EXPECT_EQ(read_latest_records(path_).replaced, 2);
  EXPECT_EQ(read_records(path_).size(), 5U);
}

TEST_F(RecordFile, ForTablesARecordIsLeftWithoutWhatNoTablePrints) {
  Record record = record_of(1);
  record.notes = {"a note"};
  record.phases["forward"] = {1, 1, 1};
  record.categories_at_peak = {{"parameters", 1}};
  write({to_json_line(record)});
  const Record whole = read_latest_records(path_).records.at(0);
  EXPECT_EQ(to_json_line(whole), to_json_line(record));
  const Record peaks = read_latest_records(path_, Keep::kPeaks).records.at(0);
  EXPECT_TRUE(peaks.categories_at_peak.empty() && peaks.notes.empty());
  EXPECT_EQ(peaks.peak->allocated, 1);
  const Record figures = read_latest_records(path_, Keep::kFigures).records.at(0);
  EXPECT_TRUE(figures.notes.empty() && figures.phases.empty());
  EXPECT_EQ(figures.categories_at_peak, record.categories_at_peak);
  EXPECT_EQ(figures.peak->allocated, 1);
  EXPECT_EQ(figures.environment.at("device"), "cpu");
  EXPECT_FALSE(figures.environment.contains("key")) << "of one row";
}

// The caller decides which of them count: all are returned, in order.
TEST_F(RecordFile, RowsOfAnotherStatusOrEnvironmentAreKeptApart) {
  Record other = record_of(1, Status::kOk, 3);
  other.environment["identity"] = {{"build", "another"}};
  Record more_memory = record_of(1, Status::kOk, 5);
  more_memory.environment["cell"]["host_memory_bytes"] = 200;
  write({to_json_line(record_of(1, Status::kOk, 1)), to_json_line(record_of(1, Status::kOom, 2)),
         to_json_line(other), to_json_line(record_of(1, Status::kOk, 4)),
         to_json_line(more_memory)});
  EXPECT_THAT(latest(), ElementsAre("1 1", "1 2", "1 3", "1 4", "1 5"));
}

TEST_F(RecordFile, MemoryDoesNotGrowWithRowsThatRepeat) {
  {
    std::ofstream file(path_, std::ios::binary);
    for (int i = 0; i < 50000; ++i) file << line_ << '\n';
  }
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const LatestRecords latest = read_latest_records(path_);
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_EQ(latest.records.size(), 1U);
  EXPECT_EQ(latest.replaced, 49999);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB";
}

// The program's bytes in use on the heap, without free ones left by earlier tests.
int64_t heap_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<int64_t>(heap.uordblks + heap.hblkhd);
}

// With the environment of a sweep's row on a virtual card.
Record row_of_a_sweep(int64_t seed) {
  Record record = record_of(seed);
  record.environment["conditions"] = {{"card", std::string(400, 'c')}};
  record.environment["allocator_variables"] = {{"LD_PRELOAD", std::string(40, 'p')}};
  for (const char* name : {"build", "cpu", "device_name", "host_memory_total", "kernel"}) {
    record.environment[name] = std::string(20, 'e');
  }
  for (const char* name : {"forward", "loss", "backward", "optimizer"}) {
    record.phases[name] = {seed, seed, seed};
    record.phase_order.push_back(name);
  }
  for (const char* name : {"activations", "cast_cache", "gradients", "optimizer_state", "other",
                           "parameters", "residual_bytes_per_block"}) {
    record.categories_at_peak[name] = record.category_peaks[name] = record.predicted[name] = seed;
  }
  return record;
}

// Before, 11 KB and 138 us per row, including its line in a table. For 65,536 rows of real sweeps,
// on a busy machine: 988 bytes (1,126 since a spec has settings of generation, 1,207 since it has
// those of a mesh) and 9.4 us to read one of a million. For the rows here, with settings of shard
// groups and checkpoints: 1,325 bytes of the heap.
TEST_F(RecordFile, RowsThatAllDifferTakeLittleMemoryAndTime) {
  constexpr int64_t kRows = 1 << 14;
  {
    std::ofstream file(path_, std::ios::binary);
    for (int64_t i = 0; i < kRows; ++i) file << to_json_line(row_of_a_sweep(i)) << '\n';
  }
  const int64_t before = heap_bytes();
  const std::clock_t begin = std::clock();
  const LatestRecords latest = read_latest_records(path_, Keep::kPeaks);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  ASSERT_EQ(latest.records.size(), kRows);
  EXPECT_EQ(latest.records.back().spec.seed, kRows - 1);
  EXPECT_EQ(&latest.records.front().environment.get(), &latest.records.back().environment.get());
  const int64_t bytes = (heap_bytes() - before) / kRows;
  RecordProperty("bytes_a_row", std::to_string(bytes));
  EXPECT_LT(bytes, 1390) << "bytes a row";
  EXPECT_LT(1e6 * seconds / kRows, 50) << "us of processor a row";
}

TEST_F(RecordFile, AFileWithoutAnyEndOfLineIsGivenUp) {
  EXPECT_THAT(message_of<BrokenInput>([] { read_latest_records("/dev/zero"); }),
              HasSubstr("/dev/zero: line 1 has no end"));
  EXPECT_THROW(read_latest_records(scratch_.path()), ReadError);
  EXPECT_THROW(read_latest_records(scratch_.file("none")), ReadError);
}

}  // namespace
}  // namespace headroom
