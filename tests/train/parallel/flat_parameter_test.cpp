#include "train/parallel/data/flat_parameter.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(FlatParameter, PiecesOfAllPartsAreEveryElementOnce) {
  const std::vector<int64_t> numels = {700, 1, 4096, 255, 256};
  for (const int64_t parts : {1, 2, 3, 8, 64}) {
    const FlatParameter unit(numels, parts);
    std::vector<int64_t> next(numels.size(), 0);
    for (int64_t part = 0; part < parts; ++part) {
      for (const FlatParameter::Piece& piece : unit.pieces(part)) {
        EXPECT_EQ(piece.begin, next[piece.parameter]) << parts;
        EXPECT_EQ(part * unit.part_numel() + piece.in_part,
                  unit.offset(piece.parameter) + piece.begin);
        next[piece.parameter] += piece.length;
      }
    }
    EXPECT_EQ(next, numels) << parts;
  }
}

TEST(FlatParameter, PartsAndParametersBeginAtWholeBlocks) {
  const FlatParameter unit({700, 1, 4096}, 3);
  EXPECT_EQ(unit.part_numel() % kFlatAlignment, 0);
  EXPECT_EQ(unit.numel(), 3 * unit.part_numel());
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(unit.offset(i) % kFlatAlignment, 0);
  for (const FlatParameter::Piece& piece : unit.pieces(1))
    EXPECT_EQ(piece.begin % kFlatAlignment, 0);
}

TEST(FlatParameter, APartMayHaveNothing) {
  const FlatParameter unit({10}, 4);
  EXPECT_EQ(unit.pieces(0).size(), 1u);
  EXPECT_TRUE(unit.pieces(3).empty());
}

}  // namespace
}  // namespace headroom
