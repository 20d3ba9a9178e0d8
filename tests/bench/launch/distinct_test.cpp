#include "bench/launch/ranks/distinct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace headroom {
namespace {

using testing::ElementsAre;

// Ranks (stage, replica, tensor), tensor innermost; each group of each axis, and the world.
struct Grid {
  int64_t stages, replicas, tensors;
  int64_t size() const { return stages * replicas * tensors; }
  int64_t rank(int64_t stage, int64_t replica, int64_t tensor) const {
    return (stage * replicas + replica) * tensors + tensor;
  }
  int64_t stage_of(int64_t rank) const { return rank / (replicas * tensors); }
  int64_t replica_of(int64_t rank) const { return rank / tensors % replicas; }

  std::vector<RankList> groups() const {
    std::vector<RankList> all(1);
    for (int64_t rank = 0; rank < size(); ++rank) all[0].push_back(rank);
    for (int64_t first = 0; first < size(); ++first) {
      RankList along_stages, along_replicas, along_tensors;
      const int64_t tensor = first % tensors;
      for (int64_t i = 0; i < stages; ++i)
        along_stages.push_back(rank(i, replica_of(first), tensor));
      for (int64_t i = 0; i < replicas; ++i)
        along_replicas.push_back(rank(stage_of(first), i, tensor));
      for (int64_t i = 0; i < tensors; ++i)
        along_tensors.push_back(rank(stage_of(first), replica_of(first), i));
      for (const RankList& group : {along_stages, along_replicas, along_tensors}) {
        if (group.front() == first) all.push_back(group);
      }
    }
    return all;
  }
};

std::vector<int64_t> ran(const std::vector<RankKind>& kinds) {
  std::vector<int64_t> ranks;
  for (const RankKind& kind : kinds) ranks.push_back(kind.rank);
  return ranks;
}

TEST(DistinctRanks, StagesOfAPipelineAreKindsAndTheOtherAxesAreNot) {
  const Grid device_mesh{.stages = 8, .replicas = 16, .tensors = 8};
  int runs = 0;
  const auto kinds = distinct_ranks(device_mesh.groups(), device_mesh.size(), [&](int64_t rank) {
    ++runs;
    const int64_t stage = device_mesh.stage_of(rank);
    return RankPrint(stage == 0 ? "first" : stage == 7 ? "last" : "between");
  });
  EXPECT_THAT(ran(kinds), ElementsAre(0, 128, 896));
  EXPECT_EQ(rank_list(kinds[1].ranks), "128-895");
  EXPECT_LE(runs, 16);
}

TEST(DistinctRanks, WhereTwoAxesDifferEveryCombinationRuns) {
  const Grid device_mesh{.stages = 2, .replicas = 4, .tensors = 2};
  const auto kinds = distinct_ranks(device_mesh.groups(), device_mesh.size(), [&](int64_t rank) {
    return std::to_string(device_mesh.stage_of(rank)) +
           (device_mesh.replica_of(rank) == 3 ? " short" : "");
  });
  EXPECT_THAT(ran(kinds), ElementsAre(0, 6, 8, 14));
  EXPECT_EQ(rank_list(kinds[0].ranks), "0-5");
  EXPECT_EQ(rank_list(kinds[1].ranks), "6,7");
}

TEST(DistinctRanks, WithoutGroupsTheWorldIsTheAxisAndUnevenShardsAreFound) {
  const auto kinds = distinct_ranks({}, 64, [](int64_t rank) {
    return std::to_string(rank < 50 ? 3 : rank == 50 ? 1 : 0);  // rows of 151 over 64
  });
  EXPECT_THAT(ran(kinds), ElementsAre(0, 50, 51));
  EXPECT_EQ(rank_list(kinds[2].ranks), "51-63");
}

TEST(DistinctRanks, OneMiddleThatDiffersFromTwoLikeEndsIsFound) {
  const auto kinds =
      distinct_ranks({}, 9, [](int64_t rank) { return RankPrint(rank == 4 ? "other" : ""); });
  EXPECT_THAT(ran(kinds), ElementsAre(0, 4, 5));
}

TEST(DistinctRanks, AlikeRanksAreOneKindAfterThreeRuns) {
  int runs = 0;
  const auto kinds = distinct_ranks({}, 1 << 20, [&](int64_t) { return ++runs, RankPrint(); });
  EXPECT_EQ(kinds.size(), 1U);
  EXPECT_EQ(kinds[0].ranks.size(), 1U << 20);
  EXPECT_EQ(runs, 3);
}

TEST(DistinctRanks, ThatDifferFromRunToRunAreRefused) {
  int runs = 0;
  const auto run = [&](int64_t) { return std::to_string(++runs); };
  EXPECT_THROW(distinct_ranks({}, 1024, run), std::runtime_error);
  EXPECT_EQ(runs, kMostRuns);
}

TEST(DistinctRanks, AGroupThatSmallerOnesSpanIsNoAxis) {
  EXPECT_THAT(axes_of({{0, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7}, {0, 4}, {0, 1}, {0, 2}}, 16),
              ElementsAre(RankList{0, 4}, RankList{0, 1}, RankList{0, 2}));
}

TEST(DistinctRanks, AListOfRanksIsShort) {
  EXPECT_EQ(rank_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10,11");
  EXPECT_EQ(rank_list({}), "");
}

}  // namespace
}  // namespace headroom
