#include "train/parallel/data/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using ::testing::ElementsAre;

const std::vector<int64_t> kBytes = {10, 4, 4, 4, 4, 6, 10};
const std::vector<int64_t> kBlocks = {-1, 0, 0, 1, 1, -1, -1};

TEST(Buckets, AreFullFromTheirBytesOnAndGoFromTheLastParameterToTheFirst) {
  EXPECT_THAT(buckets_of(kBytes, {}, 12),
              ElementsAre(ElementsAre(6, 5), ElementsAre(4, 3, 2), ElementsAre(1, 0)));
  EXPECT_THAT(buckets_of(kBytes, {}, 1000), ElementsAre(ElementsAre(6, 5, 4, 3, 2, 1, 0)));
  EXPECT_EQ(buckets_of(kBytes, {}, 1).size(), kBytes.size());
}

TEST(Buckets, HaveParametersOfOneBlockWhereBlocksAreSaid) {
  EXPECT_THAT(buckets_of(kBytes, kBlocks, 1000),
              ElementsAre(ElementsAre(6, 5), ElementsAre(4, 3), ElementsAre(2, 1), ElementsAre(0)));
  EXPECT_THAT(buckets_of(kBytes, kBlocks, 4).size(), kBytes.size());
}

}  // namespace
}  // namespace headroom
