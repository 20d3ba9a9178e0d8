#include "profiling/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

Record example() {
  Record record;
  record.spec.context_length = 128;
  record.status = Status::kOk;
  record.peak = MemoryBytes{300, 400, 200};
  record.phases["forward"] = {100, 400, 90};
  record.phase_order = {"forward"};
  record.categories_at_peak = {{"parameters", 200}, {"other", 100}};
  record.residual_bytes_per_block = 7;
  record.step_ms = {1.5, std::nan("")};
  return record;
}

TEST(Record, SurvivesJson) {
  const Record record = example();
  const Record read = record_from_json(nlohmann::json::parse(to_json_line(record)));
  EXPECT_EQ(to_json_line(read), to_json_line(record));
  EXPECT_EQ(read.peak->reserved, 400);
  EXPECT_TRUE(std::isnan(read.step_ms[1]));
}

TEST(Record, IsOneLineOfStrictJsonWhateverTheTexts) {
  Record record = example();
  record.reason = "bad \xff byte, \"quotes\"\nand a new line";
  const std::string line = to_json_line(record);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find("NaN"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(line));
}

TEST(Record, ReadersIgnoreUnknownFieldsAndRefuseOtherThings) {
  nlohmann::json json = to_json(example());
  json["from_the_future"] = 1;
  EXPECT_NO_THROW(record_from_json(json));
  json["schema_version"] = Record::kSchemaVersion + 1;
  EXPECT_THROW(record_from_json(json), std::invalid_argument);
  EXPECT_THROW(record_from_json(nlohmann::json::array()), std::invalid_argument);
}

TEST(Record, ATornLineIsPassedOverAndReportedWhereverItStands) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("records.jsonl");
  const std::string line = to_json_line(example());
  write_text(path, line.substr(0, 20) + "\n" + line + "\n\n" + line.substr(0, line.size() / 2));
  std::vector<int> torn;
  EXPECT_EQ(read_records(path, &torn).size(), 1);
  EXPECT_EQ(torn, (std::vector<int>{1, 4}));
}

TEST(Record, WhatIsNoRecordIsRefusedWithItsLine) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("records.jsonl");
  for (const char* bad : {"# a note", "{\"a\": 1}", "[1, 2]", "a 1.5 MiB"}) {
    write_text(path, to_json_line(example()) + "\n" + bad + "\n");
    EXPECT_TRUE(
        message_of<std::runtime_error>([&] { read_records(path); }).starts_with(path + ":2: "))
        << bad;
  }
}

}  // namespace
}  // namespace headroom
