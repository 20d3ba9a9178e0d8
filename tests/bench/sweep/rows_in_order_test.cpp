#include "bench/sweep/rows_in_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RowsInOrderTest : public testing::Test {
 protected:
  std::vector<size_t> written_;
  RowsInOrder rows_{[this](size_t cell) { written_.push_back(cell); }};
};

TEST_F(RowsInOrderTest, ARowWaitsForThoseBeforeIt) {
  for (const size_t cell : {0, 1, 2, 3}) rows_.expect(cell);
  rows_.ended(1);
  rows_.ended(2);
  EXPECT_THAT(written_, IsEmpty());
  rows_.ended(0);
  EXPECT_THAT(written_, ElementsAre(0, 1, 2));
  rows_.ended(3);
  EXPECT_THAT(written_, ElementsAre(0, 1, 2, 3));
}

TEST_F(RowsInOrderTest, ARowThatNobodyExpectedIsWrittenAtOnce) {
  rows_.expect(0);
  rows_.ended(7);
  EXPECT_THAT(written_, ElementsAre(7));
}

TEST_F(RowsInOrderTest, WhatWaitsAtTheEndIsWritten) {
  for (const size_t cell : {0, 1, 2}) rows_.expect(cell);
  rows_.ended(2);
  rows_.finish();
  EXPECT_THAT(written_, ElementsAre(2));
}

TEST_F(RowsInOrderTest, ALimitedNumberWaits) {
  for (size_t cell = 0; cell <= RowsInOrder::kMostWaiting + 1; ++cell) rows_.expect(cell);
  for (size_t cell = 1; cell <= RowsInOrder::kMostWaiting + 1; ++cell) rows_.ended(cell);
  EXPECT_THAT(written_, ElementsAre(RowsInOrder::kMostWaiting + 1));
}

}  // namespace
}  // namespace headroom
