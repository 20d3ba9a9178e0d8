// Parts of tensors, checked element by element.
#include "train/resume/rectangle.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headroom {
namespace {

// The elements in a rectangle of a tensor with `columns` columns, row by row.
std::vector<int64_t> elements(const Rectangle& part, int64_t columns) {
  std::vector<int64_t> all;
  for (int64_t row = 0; row < part.sizes[0]; ++row) {
    for (int64_t column = 0; column < part.sizes[1]; ++column) {
      all.push_back((part.offsets[0] + row) * columns + part.offsets[1] + column);
    }
  }
  return all;
}

TEST(Rectangle, EveryRunOfElementsIsAtMostThreeRectanglesOneBehindTheOther) {
  constexpr int64_t kColumns = 9;  // of the tensor; the box has columns 2 to 6 of rows 3 to 7
  const Rectangle box{{3, 2}, {5, 4}};
  const std::vector<int64_t> in_box = elements(box, kColumns);
  for (int64_t begin = 0; begin < box.numel(); ++begin) {
    for (int64_t length = 0; begin + length <= box.numel(); ++length) {
      std::vector<int64_t> found;
      const std::vector<Rectangle> parts = rectangles_of(box, begin, length);
      EXPECT_LE(parts.size(), 3U);
      for (const Rectangle& part : parts) {
        for (const int64_t element : elements(part, kColumns)) found.push_back(element);
      }
      const std::vector<int64_t> expected(in_box.begin() + begin, in_box.begin() + begin + length);
      ASSERT_EQ(found, expected) << begin << " " << length;
    }
  }
}

TEST(Rectangle, OfAVectorItIsARange) {
  EXPECT_EQ(rectangles_of({{10}, {20}}, 5, 7), (std::vector<Rectangle>{{{15}, {7}}}));
  EXPECT_EQ(in_words({{15}, {7}}), "[15:22]");
  EXPECT_EQ(in_words(whole_of({3, 4})), "[0:3, 0:4]");
}

TEST(Rectangle, WhatTwoShareIsInBoth) {
  EXPECT_EQ(overlap({{0, 0}, {4, 4}}, {{2, 3}, {4, 4}}), (Rectangle{{2, 3}, {2, 1}}));
  EXPECT_FALSE(overlap({{0, 0}, {4, 4}}, {{4, 0}, {1, 4}}).has_value());
  EXPECT_FALSE(overlap({{0}, {4}}, {{4}, {1}}).has_value());
}

}  // namespace
}  // namespace headroom
