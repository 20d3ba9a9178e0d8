#include "train/parallel/data/shard_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;

TEST(ShardGroups, NeighbouringReplicasShareAndTheSamePlacesOfTheGroupsAreCopies) {
  const ShardGroups groups(parse_mesh("--mesh", "dp=6"), 3);
  EXPECT_EQ(groups.groups(), 2);
  EXPECT_THAT(groups.sharers(4), ElementsAre(3, 4, 5));
  EXPECT_THAT(groups.copies(4), ElementsAre(1, 4));
  EXPECT_EQ(groups.part(4), 1);
  EXPECT_EQ(groups.group(4), 1);
}

TEST(ShardGroups, OtherAxesAreLeftAsTheyAre) {
  const ShardGroups groups(parse_mesh("--mesh", "pp=2,dp=4,tp=2"), 2);
  // Rank 11: stage 1, replica 1, the second of its two tensor-parallel ranks.
  EXPECT_THAT(groups.sharers(11), ElementsAre(9, 11));
  EXPECT_THAT(groups.copies(11), ElementsAre(11, 15));
}

TEST(ShardGroups, WithoutASizeAllShareAndNobodyIsACopy) {
  const ShardGroups groups(parse_mesh("--mesh", "dp=4"), 0);
  EXPECT_EQ(groups.size(), 4);
  EXPECT_THAT(groups.sharers(2), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(groups.copies(2), ElementsAre(2));
}

}  // namespace
}  // namespace headroom
