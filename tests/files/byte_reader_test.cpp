#include "files/byte_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "files/mapped_file.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

std::string numbered(size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(i % 251);
  return text;
}

TEST(ByteReader, PiecesOfAnySizeAreTheFile) {
  const ScratchDirectory scratch;
  const std::string text = numbered(5'000'000);  // longer than any piece that is kept
  ByteReader file(scratch.write("a", text), INT64_MAX);
  std::string read;
  for (uint64_t size = 1; read.size() < text.size(); size = size * 3 + 1) {
    EXPECT_EQ(file.peek(5), text.substr(read.size(), 5));
    EXPECT_EQ(file.at(), read.size());
    read += file.take(size);
  }
  EXPECT_EQ(read, text);
  EXPECT_EQ(file.take(1), "");
}

TEST(ByteReader, AtTheEndItGivesTheRest) {
  const ScratchDirectory scratch;
  ByteReader file(scratch.write("a", "abc"), INT64_MAX);
  ByteReader memory(std::string_view("abc"));
  for (ByteReader* reader : {&file, &memory}) {
    EXPECT_EQ(reader->take(UINT32_MAX), "abc");  // costs three bytes
    EXPECT_EQ(reader->at(), 3);
    EXPECT_EQ(reader->peek(1), "");
  }
}

TEST(ByteReader, MoreThanTheMostIsRefused) {
  const ScratchDirectory scratch;
  ByteReader file(scratch.write("a", "123456"), 5);
  EXPECT_THROW(file.take(1), ReadError);
}

}  // namespace
}  // namespace headroom
