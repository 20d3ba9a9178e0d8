#include "train/data/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::HasSubstr;

// Little-endian ids of `width` bytes.
std::string ids(const std::vector<uint32_t>& values, int width) {
  std::string bytes;
  for (const uint32_t value : values) {
    for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

class Tokens : public testing::Test {
 protected:
  std::string refusal(const std::string& path, const std::string& type = "uint16") {
    return message_of<UsageError>([&] { TokenFile file(path, type); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Tokens, IdsOfBothWidthsAreReadAndWrapAround) {
  const TokenFile narrow(scratch_.write("16", ids({1, 256, 65535}, 2)), "uint16");
  EXPECT_EQ(narrow.size(), 3);
  EXPECT_EQ(narrow.at(1), 256);
  EXPECT_EQ(narrow.at(2), 65535);
  EXPECT_EQ(narrow.at(3), 1);
  EXPECT_EQ(narrow.at(3'000'000'001), 256);
  const TokenFile wide(scratch_.write("32", ids({7, 4294967295U, 1U << 24}, 4)), "uint32");
  EXPECT_EQ(wide.size(), 3);
  EXPECT_EQ(wide.at(1), 4294967295);
  EXPECT_EQ(wide.at(2), 1 << 24);
}

TEST_F(Tokens, SizesThatAreNotWholeIdsAreRefused) {
  for (const size_t size : {0, 1, 2, 3, 5}) {
    EXPECT_THAT(refusal(scratch_.write("odd", std::string(size, 'x'))),
                HasSubstr("has " + std::to_string(size) + " bytes"));
  }
  EXPECT_THAT(refusal(scratch_.write("six", std::string(6, 'x')), "uint32"),
              HasSubstr("uint32 ids of 4 bytes"));
}

TEST_F(Tokens, AFileThatIsNotThereIsNamed) {
  const std::string path = scratch_.file("missing.bin");
  EXPECT_THAT(refusal(path), HasSubstr("--tokens: '" + path + "' cannot be read: No such file"));
  EXPECT_THAT(refusal(scratch_.file("")), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("not a regular file"));
}

TEST_F(Tokens, AnIdBeyondTheVocabularyIsFoundWhereTheStepsRead) {
  const std::string path = scratch_.write("ids", ids({1, 2, 3, 4, 5, 99, 7, 8}, 2));
  const TokenFile file(path, "uint16");
  EXPECT_NO_THROW(file.check_ids(100, 4, 2));
  // Two steps of two tokens read the ids 0 to 4; a third one also the target at 5.
  EXPECT_NO_THROW(file.check_ids(50, 2, 2));
  EXPECT_NO_THROW(file.check_ids(6, 4, 1));
  const auto message = message_of<UsageError>([&] { file.check_ids(50, 2, 3); });
  EXPECT_THAT(message, HasSubstr("has id 99 at position 5"));
  EXPECT_THAT(message, HasSubstr("below the vocabulary of 50"));
  EXPECT_THAT(message, HasSubstr("--vocab-size 100"));
  EXPECT_THROW(file.check_ids(99, 1000, 1000), UsageError);
  EXPECT_THROW(file.check_ids(5, 4, 1), UsageError) << "the last target counts";
  // A product of 2^68, whose low 64 bits are zero.
  EXPECT_THROW(file.check_ids(50, int64_t{1} << 48, int64_t{1} << 20), UsageError);
}

}  // namespace
}  // namespace headroom
