#include "files/checksum.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

// From the test vectors of xxhash's own documentation: XXH3_64bits of nothing.
TEST(ChecksumTest, IsXxh3) { EXPECT_EQ(checksum(""), 0x2d06800538d394c2ULL); }

TEST(ChecksumTest, EveryBitCounts) {
  std::string text(1000, 'a');
  const uint64_t before = checksum(text);
  EXPECT_EQ(before, checksum(text.data(), 1000));
  for (size_t i = 0; i < text.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      text[i] ^= static_cast<char>(1 << bit);
      EXPECT_NE(checksum(text), before);
      text[i] ^= static_cast<char>(1 << bit);
    }
  }
}

TEST(ChecksumTest, TextIsSixteenDigitsAndComesBack) {
  for (const uint64_t sum : {0ULL, 1ULL, 0xfedcba9876543210ULL, ~0ULL}) {
    EXPECT_EQ(checksum_text(sum).size(), kChecksumDigits);
    EXPECT_EQ(checksum_from_text(checksum_text(sum)), sum);
  }
  EXPECT_EQ(checksum_text(0xfedcba9876543210ULL), "fedcba9876543210");
  for (const char* none : {"", "fedcba987654321", "fedcba98765432100", "fedcba987654321g",
                           "-edcba9876543210", "0x0000000000000f"}) {
    EXPECT_EQ(checksum_from_text(none), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace headroom
