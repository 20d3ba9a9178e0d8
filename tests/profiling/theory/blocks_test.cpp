// Blocks that keep different tensors, and weights stored in another type than the products'.
#include "profiling/theory/activations/blocks.h"

#include <gtest/gtest.h>

#include "model/parameter_table.h"
#include "profiling/theory/rows.h"
#include "tests/train/support/tiny_spec.h"

namespace headroom {
namespace {

constexpr int64_t kLayers = 5;

RunSpec five_blocks(Precision precision) {
  RunSpec spec = tiny_spec();
  spec.layers = kLayers;
  spec.profile_type = Mode::kForwardBackward;
  spec.precision = precision;
  spec.device = parse_device("cuda");
  return spec;
}

bool is_output(const Row& row) { return row.tensor == "output_BSD"; }
constexpr int64_t kOutput = 2 * 16 * 32 * 4;

TEST(TheoryBlocks, AreSets) {
  const Blocks all = Blocks::all(kLayers);
  const Blocks even = Blocks::every(2, kLayers);
  EXPECT_EQ(all.count(), 5);
  EXPECT_EQ(even.count(), 3);
  EXPECT_TRUE(even.contains(4));
  EXPECT_FALSE(even.contains(3));
  const Blocks odd = all.without(even);
  EXPECT_EQ(odd.count(), 2);
  EXPECT_EQ(odd.first(), 1);
  EXPECT_TRUE(all.without(all).empty());
}

TEST(TheoryBlocks, AreAllAlikeUntilATechniqueTakesRowsFromSome) {
  auto rows = theory_rows(five_blocks(Precision::kFp32));
  const int64_t one = total(rows, kBlock);
  EXPECT_EQ(blocks_alike(rows, kLayers), std::vector{Blocks::all(kLayers)});
  EXPECT_EQ(model_total(rows, kBlock), 5 * one);

  const Blocks even = Blocks::every(2, kLayers);
  const int64_t before = activation_bytes(rows);
  drop(rows, even, is_output);
  EXPECT_EQ(blocks_alike(rows, kLayers), (std::vector{even, Blocks::all(kLayers).without(even)}));
  EXPECT_EQ(total(rows_of_block(rows, 0), kBlock), kOutput);
  EXPECT_EQ(total(rows_of_block(rows, 1), kBlock), one);
  EXPECT_EQ(model_total(rows, kBlock), 3 * kOutput + 2 * one);
  EXPECT_EQ(activation_bytes(rows), before - 3 * (one - kOutput));
}

TEST(TheoryBlocks, ARowThatNoBlockKeepsIsGone) {
  auto rows = theory_rows(five_blocks(Precision::kFp32));
  drop(rows, Blocks::all(kLayers), is_output);
  int64_t of_blocks = 0;
  for (const Row& row : rows) of_blocks += row.group == kBlock ? 1 : 0;
  EXPECT_EQ(of_blocks, 1);
  EXPECT_EQ(model_total(rows, kBlock), 5 * kOutput);
}

TEST(TheoryBlocks, TwoKindsOfBlocksAndWeightsStoredInBf16SumRight) {
  RunSpec spec = five_blocks(Precision::kFp32);
  spec.weights = WeightType::kBf16;
  auto rows = theory_rows(spec);
  const int64_t parameters = parameter_count(model_config(spec));
  EXPECT_EQ(total(rows, kParameters), 2 * parameters);
  EXPECT_EQ(total(rows, kGradients), 2 * parameters);
  EXPECT_EQ(total(rows, kCastCache), 0) << "products take the weights as they are";

  const int64_t one = total(rows, kBlock);
  const int64_t before = activation_bytes(rows);
  drop(rows, Blocks::every(2, kLayers), is_output);
  // The stream itself is not saved: the norms save FP32 copies of it.
  EXPECT_EQ(activation_bytes(rows), before - 3 * one);
  int64_t all = 0;
  for (const Row& row : rows) all += row.model_bytes();
  EXPECT_EQ(all,
            activation_bytes(rows) + 4 * parameters + total(rows, kTables) + total(rows, kInputs));
}

}  // namespace
}  // namespace headroom
