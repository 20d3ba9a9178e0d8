// NCCL's own memory, against published measurements.
#include "virtual_gpu/nccl/memory/own_bytes.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace virtual_gpu {
namespace {

constexpr int64_t kMiB = 1 << 20;

NcclOwnBytes a100(int64_t ranks, int64_t rank, const NcclSettings& settings = {}) {
  return {{.ranks = ranks, .rank = rank, .cards_a_host = 8, .nvlink_channels = 24, .major = 8},
          settings};
}

NcclOwnBytes h100(int64_t ranks, int64_t rank = 0, const NcclSettings& settings = {}) {
  return {{.ranks = ranks, .rank = rank, .cards_a_host = 8, .nvlink_channels = 24, .major = 9},
          settings};
}

// NVIDIA/nccl#964: four A100, NCCL before late connections and arrays in pages: 544 MiB for two
// ranks, 688 for four, on rank 0.
TEST(NcclOwnBytes, AreThoseMeasuredOnA100BeforeConnectionsWereLate) {
  const NcclSettings before{.in_pages = false, .connects_late = false};
  const auto all = [](const NcclOwnBytes& own) {
    return own.set_up() + own.rings() + own.trees() + own.nvls();
  };
  EXPECT_EQ(all(a100(2, 0, before)) / kMiB, 544);
  EXPECT_EQ(all(a100(4, 0, before)) / kMiB, 688);
}

// NVIDIA/nccl#1685: all-to-all of 8 H100: allocations of 10485760 and 2097152 bytes, 32 channels to
// each of seven others.
TEST(NcclOwnBytes, AnAllToAllConnectsEveryPairOverEveryChannel) {
  const NcclOwnBytes own = h100(8);
  EXPECT_EQ(own.receive_from(3), 32 * 10485760);
  EXPECT_EQ(own.send_to(3), 32 * 2097152);
  EXPECT_EQ(own.send_to(0), 0);
}

// NVIDIA/nccl#2363: one rank, NCCL_RUNTIME_CONNECT=0: "Failed to CUDA calloc 536870912 bytes";
// absent with late connections (nccl#2366: 996 and 484 MiB on an RTX 3090).
TEST(NcclOwnBytes, OneRankThatConnectsAtOnceTakesTheNetworksPool) {
  const NcclPlace place{.major = 8, .minor = 6};
  const NcclOwnBytes late(place, {});
  const NcclOwnBytes at_once(place, {.connects_late = false});
  EXPECT_EQ(at_once.set_up() - late.set_up(), 536870912);
  EXPECT_LT(late.set_up(), 484 * kMiB);
  EXPECT_EQ(late.rings(), 0);
}

TEST(NcclOwnBytes, NvlinkSharpIsForLargeAllReducesOfThreeRanksAndMore) {
  EXPECT_EQ(h100(8).nvls(), 256 * kMiB);  // "nvlsTotalSize" of NCCL's log: 16 x 2 x 1 MiB x 8
  EXPECT_TRUE(h100(8).takes_nvls(1 << 20));
  EXPECT_FALSE(h100(8).takes_nvls(4));
  EXPECT_FALSE(h100(2).takes_nvls(1 << 30));
  EXPECT_FALSE(a100(8, 0).takes_nvls(1 << 30));
  EXPECT_FALSE(h100(8, 0, {.has_nvls = false}).takes_nvls(1 << 30));
}

TEST(NcclOwnBytes, OverHostsSomeChannelsGoToTheNetworkAndPairsShareItsPool) {
  const NcclOwnBytes own = h100(64, 9);
  EXPECT_FALSE(own.is_one_host());
  EXPECT_TRUE(own.is_beside(15));
  EXPECT_FALSE(own.is_beside(7));
  EXPECT_EQ(own.send_to(7), 0);
  EXPECT_EQ(own.network_pool(), 2 * 16 * 16 * 128 * 1024);
  EXPECT_GT(own.rings(), 16 * 12 * kMiB);
  EXPECT_GT(own.trees(), 0);
}

TEST(NcclOwnBytes, FollowTheSettingsOfTheEnvironmentAsNcclReadsThem) {
  setenv("NCCL_BUFFSIZE", "0x100000", 1);
  setenv("NCCL_MAX_NCHANNELS", "4", 1);
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  setenv("NCCL_CUMEM_ENABLE", "nonsense", 1);
  const NcclSettings settings = NcclSettings::of_environment();
  for (const char* name :
       {"NCCL_BUFFSIZE", "NCCL_MAX_NCHANNELS", "NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE"}) {
    unsetenv(name);
  }
  EXPECT_EQ(settings.simple_buffer, 1 << 20);
  EXPECT_EQ(settings.most_channels, 4);
  EXPECT_FALSE(settings.has_nvls);
  EXPECT_TRUE(settings.in_pages);
  const NcclOwnBytes own = h100(8, 0, settings);
  EXPECT_EQ(own.rings(), 4 * (8 + 2) * kMiB);  // 4096 + 524288 + 4915200 + 1 MiB, in pages
  EXPECT_EQ(own.set_up(), (2 + 4 * 3) * 2 * kMiB);
}

}  // namespace
}  // namespace virtual_gpu
