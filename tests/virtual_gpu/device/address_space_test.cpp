#include "virtual_gpu/device/memory/address_space.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>

namespace virtual_gpu {
namespace {

constexpr uint64_t kSpaceMiB = uint64_t{1} << 20;
constexpr uint64_t kBase = uint64_t{1} << 40;

TEST(AddressSpace, LargeBlocksTakeWholePagesOfARegionAtTheUpperEnd) {
  AddressSpace space(kBase, 128 * kSpaceMiB);
  EXPECT_EQ(space.allocate(20 * kSpaceMiB), kBase + 96 * kSpaceMiB);
  EXPECT_EQ(space.allocate(3 * kSpaceMiB), kBase + 116 * kSpaceMiB);
  EXPECT_EQ(space.allocate(10 * kSpaceMiB), kBase + 64 * kSpaceMiB);
  EXPECT_EQ(space.used_bytes(), 34 * kSpaceMiB) << "pages, not regions";
  EXPECT_EQ(space.release(kBase + 116 * kSpaceMiB), 4 * kSpaceMiB);
  EXPECT_EQ(space.allocate(22 * kSpaceMiB), kBase + 74 * kSpaceMiB);
  EXPECT_EQ(space.allocate(4 * kSpaceMiB), kBase + 116 * kSpaceMiB) << "the hole is used again";
}

TEST(AddressSpace, SmallBlocksShareAPage) {
  AddressSpace space(kBase, 64 * kSpaceMiB);
  const uint64_t page = kBase + 32 * kSpaceMiB;
  EXPECT_EQ(space.allocate(1), page);
  EXPECT_EQ(space.allocate(513), page + 512);
  EXPECT_EQ(space.allocate(512), page + 3 * 512);
  EXPECT_EQ(space.used_bytes(), 2 * kSpaceMiB);
  EXPECT_EQ(space.live_blocks(), 3U);
}

TEST(AddressSpace, APageWithNothingInItIsGivenBack) {
  AddressSpace space(kBase, 64 * kSpaceMiB);
  const uint64_t a = *space.allocate(1000);
  const uint64_t b = *space.allocate(1000);
  EXPECT_EQ(space.release(a), 1024U);
  EXPECT_EQ(space.used_bytes(), 2 * kSpaceMiB);
  EXPECT_EQ(space.release(b), 1024U);
  EXPECT_EQ(space.used_bytes(), 0U);
  EXPECT_EQ(space.allocate(64 * kSpaceMiB), kBase);
}

TEST(AddressSpace, ReleasesOnlyWhatStartsABlock) {
  AddressSpace space(kBase, 64 * kSpaceMiB);
  const uint64_t large = *space.allocate(6 * kSpaceMiB);
  const uint64_t small = *space.allocate(2000);
  EXPECT_FALSE(space.release(large + 2 * kSpaceMiB));
  EXPECT_FALSE(space.release(small + 512));
  EXPECT_FALSE(space.release(kBase + 60 * kSpaceMiB));
  EXPECT_FALSE(space.release(42));
  EXPECT_TRUE(space.release(large));
  EXPECT_FALSE(space.release(large)) << "twice";
  EXPECT_TRUE(space.release(small));
  EXPECT_FALSE(space.release(small)) << "twice";
}

TEST(AddressSpace, FindsTheBlockAroundAnAddress) {
  AddressSpace space(kBase, 64 * kSpaceMiB);
  const uint64_t large = *space.allocate(6 * kSpaceMiB);
  const uint64_t first = *space.allocate(2000);
  const uint64_t second = *space.allocate(700);
  EXPECT_EQ(space.find(large + 6 * kSpaceMiB - 1)->address, large);
  EXPECT_EQ(space.find(large)->bytes, 6 * kSpaceMiB);
  EXPECT_EQ(space.find(first + 2047)->address, first);
  EXPECT_EQ(space.find(first)->bytes, 2048U);
  EXPECT_EQ(space.find(second)->address, second);
  EXPECT_FALSE(space.find(second + 1024));
  EXPECT_FALSE(space.find(kBase - 1));
}

TEST(AddressSpace, RefusesWhatHasNoRunOfAddresses) {
  AddressSpace space(kBase, 8 * kSpaceMiB);
  const uint64_t first = *space.allocate(2 * kSpaceMiB);
  ASSERT_TRUE(space.allocate(2 * kSpaceMiB));
  const uint64_t third = *space.allocate(2 * kSpaceMiB);
  ASSERT_TRUE(space.allocate(2 * kSpaceMiB));
  EXPECT_FALSE(space.allocate(512));
  space.release(first);
  space.release(third);
  EXPECT_FALSE(space.allocate(4 * kSpaceMiB)) << "4 MiB are free, but not side by side";
  EXPECT_FALSE(space.allocate(UINT64_MAX));
  EXPECT_TRUE(space.allocate(2 * kSpaceMiB));
}

// Ten million live blocks, as in a program with many tiny tensors and no caching allocator.
TEST(AddressSpace, TenMillionBlocksCostLittleMemory) {
  constexpr uint64_t kBlocks = 10000000;
  AddressSpace space(kBase, uint64_t{16} << 40);
  const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (uint64_t i = 0; i < kBlocks; ++i) ASSERT_TRUE(space.allocate(i % 3 == 0 ? 1500 : 512));
  EXPECT_EQ(space.live_blocks(), kBlocks);
  const size_t grown = mallinfo2().uordblks + mallinfo2().hblkhd - before;
  EXPECT_LT(grown, 100 * kSpaceMiB);
}

}  // namespace
}  // namespace virtual_gpu
