#include "train/offload/disk/disk_layout.h"

#include <gtest/gtest.h>

#include "tests/train/offload/disk/known_states.h"

namespace headroom {
namespace {

TEST(DiskLayout, BlocksFollowEachOtherInWholePagesAndHoldEveryNumberOnce) {
  const std::vector<StateRegion> regions = known_regions();
  const DiskLayout layout(regions, kKnownBlockBytes);
  int64_t end = DiskLayout::kPage;
  for (size_t region = 0; region < regions.size(); ++region) {
    int64_t numbers = 0;
    for (const StateBlock& block : layout.blocks_of(static_cast<int>(region))) {
      EXPECT_EQ(block.region, static_cast<int>(region));
      EXPECT_EQ(block.first, numbers);
      EXPECT_EQ(block.offset, end);
      EXPECT_EQ(block.bytes % (3 * DiskLayout::kPage), 0);
      EXPECT_LE(block.bytes, layout.block_bytes());
      EXPECT_LE(block.numbers * int64_t{sizeof(float)}, block.array_bytes());
      EXPECT_LT(block.array_bytes() - block.numbers * int64_t{sizeof(float)}, DiskLayout::kPage);
      numbers += block.numbers;
      end += block.bytes;
    }
    EXPECT_EQ(numbers, regions[region].numbers) << regions[region].name;
  }
  EXPECT_EQ(layout.file_bytes(), end);
  EXPECT_EQ(layout.state_bytes(), end - DiskLayout::kPage);
}

TEST(DiskLayout, TwelveBytesANumberAndLessThanThreePagesAParameter) {
  const DiskLayout layout({{"a", 1 << 20}, {"b", 1}}, 3 << 20);
  EXPECT_EQ(layout.state_bytes(), (12 << 20) + 3 * DiskLayout::kPage);
}

TEST(DiskLayout, OtherNamesNumbersOrBlocksAreAnotherLayout) {
  const uint64_t hash = DiskLayout({{"a", 10}, {"b", 20}}, 3 << 20).hash();
  EXPECT_EQ(DiskLayout({{"a", 10}, {"b", 20}}, 3 << 20).hash(), hash);
  EXPECT_NE(DiskLayout({{"a", 10}, {"c", 20}}, 3 << 20).hash(), hash);
  EXPECT_NE(DiskLayout({{"a", 11}, {"b", 20}}, 3 << 20).hash(), hash);
  EXPECT_NE(DiskLayout({{"b", 20}, {"a", 10}}, 3 << 20).hash(), hash);
  EXPECT_NE(DiskLayout({{"a", 10}, {"b", 20}}, 6 << 20).hash(), hash);
}

}  // namespace
}  // namespace headroom
