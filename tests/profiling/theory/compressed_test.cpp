#include "profiling/theory/activations/compressed.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/train/support/tiny_spec.h"

namespace headroom {
namespace {

std::vector<Row> rows_with(const std::string& activations) {
  RunSpec spec = tiny_spec();
  spec.activations = parse_activations(activations);
  return theory_rows(spec);
}

const Row* find_row(const std::vector<Row>& rows, const std::string& group,
                    const std::string& tensor) {
  for (const Row& row : rows) {
    if (row.group == group && row.tensor == tensor) return &row;
  }
  return nullptr;
}

TEST(CompressedRows, ARowBecomesItsCodesAndItsScales) {
  const auto rows = rows_with("int8:block=100,min=0");
  const Row* codes = find_row(rows, kBlock, "w1_x_BSF");
  const Row* scales = find_row(rows, kBlock, "w1_x_BSF.scales");
  ASSERT_TRUE(codes && scales);
  EXPECT_EQ(codes->bytes, 2 * 16 * 48);
  EXPECT_EQ(codes->dtype, DType::kInt8);
  EXPECT_EQ(codes->derivation, "B*S*F * 1 B = 2*16*48 * 1 B");
  EXPECT_EQ(scales->bytes, 4 * 16) << "1536 numbers in blocks of 100";
  EXPECT_EQ(find_row(rows_with("fp8:min=0"), kBlock, "w1_x_BSF")->dtype, DType::kFp8);
}

TEST(CompressedRows, WhatIsNotPackedIsAsBefore) {
  const auto exact = rows_with("exact");
  const auto rows = rows_with("int8:min=0");
  for (const auto& [group, tensor] :
       std::vector<std::pair<std::string, std::string>>{{kBlock, "mask_11ST"},
                                                        {kBlock, "max_indices_BHS1"},
                                                        {kBlock, "sum_BHS1"},
                                                        {kBlock, "ln1.inverse_rms_BS1"},
                                                        {kHead, "logits_BSV"},
                                                        {kLoss, "sum_BS1"},
                                                        {kLoss, "loss"},
                                                        {kTables, "cos_SR"}}) {
    const Row* row = find_row(rows, group, tensor);
    ASSERT_TRUE(row) << tensor;
    EXPECT_EQ(row->bytes, find_row(exact, group, tensor)->bytes) << tensor;
    EXPECT_EQ(row->dtype, find_row(exact, group, tensor)->dtype) << tensor;
  }
  for (const char* group : {kParameters, kGradients, kOptimizerState, kInputs}) {
    EXPECT_EQ(total(rows, group), total(exact, group)) << group;
  }
}

TEST(CompressedRows, AStorageBelowTheMinimumIsKept) {
  const int64_t stream = 4 * 2 * 16 * 32;
  const auto at = rows_with("int8:min=" + std::to_string(stream));
  EXPECT_EQ(find_row(at, kBlock, "attended_BSD")->dtype, DType::kInt8);
  const auto above = rows_with("int8:min=" + std::to_string(stream + 1));
  EXPECT_EQ(find_row(above, kBlock, "attended_BSD")->dtype, DType::kFp32);
  EXPECT_EQ(find_row(above, kBlock, "output_BSD")->dtype, DType::kFp32);
  EXPECT_EQ(find_row(above, kBlock, "w1_x_BSF")->dtype, DType::kInt8) << "larger";
  EXPECT_EQ(activation_bytes(rows_with("int8:min=1GiB")), activation_bytes(rows_with("exact")));
}

// A hook gets the tensors that autograd saves, in whatever form they are kept.
TEST(CompressedRows, SavesAreCountedAsAutogradMakesThem) {
  const HookTally exact = hook_tally(rows_with("exact"), kBlock);
  const HookTally packed = hook_tally(rows_with("int8:min=0"), kBlock);
  EXPECT_EQ(packed.tensors, exact.tensors);
  EXPECT_EQ(packed.bytes, exact.bytes);
}

TEST(CompressedRows, TheStreamBelongsToTheNormThatSavesIt) {
  const auto rows = rows_with("int8:min=0");
  EXPECT_FALSE(find_row(rows, kBlock, "output_BSD"));
  EXPECT_FALSE(find_row(rows, kEmbedding, "embedded_BSD"));
  EXPECT_EQ(find_row(rows, kBlock, "x_BSD")->bytes, 2 * 16 * 32);
  EXPECT_EQ(find_row(rows, kFinalNorm, "x_BSD")->bytes, 2 * 16 * 32);
}

// Block 1 of 3 saves nothing itself: it reads block 0's output unchanged.
TEST(CompressedRows, AnOutputStaysWhereItsReaderSavesNothing) {
  RunSpec spec = tiny_spec();
  auto rows = theory_rows(spec);
  Blocks second;
  second.add(1);
  drop(rows, second, [](const Row& row) { return row.tensor == "output_BSD"; });
  spec.activations = parse_activations("int8:min=0");
  compress_saved(rows, spec);
  const Row* output = find_row(rows, kBlock, "output_BSD");
  ASSERT_TRUE(output);
  EXPECT_EQ(output->dtype, DType::kFp32);
  EXPECT_EQ(output->blocks.count(), 1);
  EXPECT_TRUE(output->blocks.contains(0));
  EXPECT_EQ(find_row(rows, kBlock, "x_BSD")->blocks.count(), 2);
}

}  // namespace
}  // namespace headroom
