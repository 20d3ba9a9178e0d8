#include "train/data/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/files/scratch_directory.h"
#include "tests/train/data/write_safetensors.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string bytes_of(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

std::string entry(const std::string& dtype, const std::string& shape, int64_t begin, int64_t end) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}}";
}

class Safetensors : public testing::Test {
 protected:
  std::string problem_with(const std::string& bytes) {
    const std::string path = scratch_.write("file.safetensors", bytes);
    std::string message = message_of<UsageError>([&] { SafetensorsFile file(path); });
    EXPECT_THAT(message, HasSubstr(path));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
    return message;
  }
  ScratchDirectory scratch_;
};

TEST_F(Safetensors, WhatIsWrittenIsRead) {
  const std::vector<float> first = {1, 2, 3, 4, 5, 6};
  const int64_t second = -7;
  const std::string path = scratch_.file("file.safetensors");
  write_safetensors(path, {{"b.weight", {"F32", {2, 3}, first.data(), 24}},
                           {"a \"quoted\"", {"I64", {}, &second, 8}}});
  const SafetensorsFile file(path);
  ASSERT_EQ(file.entries().size(), 2U);
  const SafetensorsEntry& b = file.entries().at("b.weight");
  EXPECT_EQ(b.dtype, "F32");
  EXPECT_THAT(b.shape, ElementsAre(2, 3));
  ASSERT_EQ(b.bytes, 24);
  EXPECT_EQ(std::memcmp(b.data, first.data(), 24), 0);
  const SafetensorsEntry& a = file.entries().at("a \"quoted\"");
  EXPECT_TRUE(a.shape.empty());
  EXPECT_EQ(std::memcmp(a.data, &second, 8), 0);
}

TEST_F(Safetensors, AFileCutAnywhereIsRefused) {
  const std::string whole =
      bytes_of(entry("F32", "[2]", 0, 8), std::string("\1\2\3\4\5\6\7\10", 8));
  scratch_.write("whole", whole);
  EXPECT_EQ(SafetensorsFile(scratch_.file("whole")).entries().at("a").bytes, 8);
  for (size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    problem_with(whole.substr(0, length));
  }
}

TEST_F(Safetensors, OffsetsAndSizesThatDoNotAgreeAreRefusedByName) {
  const std::string data(16, 'x');
  for (const std::string& header :
       {entry("F32", "[2]", 0, 17), entry("F32", "[2]", 12, 20), entry("F32", "[2]", -8, 0),
        entry("F32", "[2]", 8, 0), entry("F32", "[3]", 0, 8), entry("F32", "[-2]", 0, 8),
        entry("F32", "[4294967296,4294967296,2]", 0, 8), entry("F64", "[2]", 0, 8),
        entry("F32", "[2]", 0, 9), entry("Q4", "[2]", 0, 8)}) {
    EXPECT_THAT(problem_with(bytes_of(header, data)), HasSubstr("at tensor a")) << header;
  }
}

TEST_F(Safetensors, AHeaderThatIsNotOneIsRefused) {
  EXPECT_THAT(problem_with(bytes_of("not json", "")), HasSubstr("not JSON"));
  EXPECT_THAT(problem_with(bytes_of("[1, 2]", "")), HasSubstr("not JSON"));
  EXPECT_THAT(problem_with(bytes_of(R"({"a": 3})", "")), HasSubstr("not a tensor: a"));
  EXPECT_THAT(problem_with(bytes_of(R"({"a": {"dtype": "F32", "shape": ["x"]}})", "")),
              HasSubstr("not a tensor: a"));
  EXPECT_THAT(problem_with(std::string(8, '\xff') + "{}"), HasSubstr("18446744073709551615"));
}

TEST_F(Safetensors, MetadataIsNoTensor) {
  const std::string path =
      scratch_.write("m", bytes_of(R"({"__metadata__": {"made_by": "a test"}})", ""));
  EXPECT_TRUE(SafetensorsFile(path).entries().empty());
}

TEST_F(Safetensors, MetadataThatIsWrittenIsRead) {
  const std::string path = scratch_.file("metadata");
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"made_by", "a \"test\""}};
  SafetensorsWriter file(path, {{"a", "F32", {1}}}, metadata);
  const float value = 1;
  file.append(&value, sizeof(value));
  file.commit();
  const SafetensorsFile read(path);
  EXPECT_EQ(read.metadata(), metadata);
  EXPECT_EQ(read.entries().size(), 1U);
}

TEST_F(Safetensors, WhatIsNotAFileIsRefused) {
  for (const std::string& path : {scratch_.file("missing"), scratch_.file(""), std::string()}) {
    EXPECT_THROW(SafetensorsFile{path}, UsageError) << path;
  }
}

TEST_F(Safetensors, WhatIsNotFinishedLeavesTheEarlierFile) {
  const std::string path = scratch_.write("file", "earlier");
  {
    SafetensorsWriter file(path, {{"a", "F32", {1}}, {"b", "F32", {2}}});
    const float value = 1;
    file.append(&value, sizeof(value));
    EXPECT_EQ(read_text(path), "earlier");
  }
  EXPECT_EQ(read_text(path), "earlier");
}

TEST_F(Safetensors, AFailedWriteKeepsTheEarlierFile) {
  const float value = 1;
  const SafetensorsEntry one{"F32", {1}, &value, 4};
  EXPECT_THROW(write_safetensors("/dev/full", {{"a", one}}), std::runtime_error);
  EXPECT_THROW(write_safetensors(scratch_.file("no/such/folder"), {{"a", one}}),
               std::runtime_error);
}

}  // namespace
}  // namespace headroom
