#include "plan/cost/layout.h"

#include <gtest/gtest.h>

#include <numeric>

#include "text/quantity.h"

namespace headroom {
namespace {

TEST(Layout, PartsSumToTheWholeAndTheFirstIsTheLargest) {
  for (const int64_t total : {0, 1, 7, 8, 1000, 1001}) {
    for (const int64_t count : {1, 2, 3, 8, 64}) {
      int64_t sum = 0;
      for (int64_t index = 0; index < count; ++index) {
        sum += shard(total, count, index);
        EXPECT_LE(shard(total, count, index), shard(total, count));
      }
      EXPECT_EQ(sum, total) << total << " over " << count;
    }
  }
}

TEST(Layout, StagesSumToTheLayersAndTheEndsHaveTheFewest) {
  for (const int64_t layers : {1, 4, 80, 126}) {
    for (int64_t pp = 1; pp <= layers; ++pp) {
      int64_t sum = 0;
      for (int64_t stage = 0; stage < pp; ++stage) {
        sum += layers_of_stage(layers, pp, stage);
        EXPECT_LE(layers_of_stage(layers, pp, 0), layers_of_stage(layers, pp, stage));
      }
      EXPECT_EQ(sum, layers);
    }
  }
}

// Llama 3 405B: 126 layers in 16 stages, one layer fewer at both ends.
TEST(Layout, SharesLayersAsLlama3Did) {
  EXPECT_EQ(layers_of_stage(126, 16, 0), 7);
  EXPECT_EQ(layers_of_stage(126, 16, 15), 7);
  for (int64_t stage = 1; stage < 15; ++stage) EXPECT_EQ(layers_of_stage(126, 16, stage), 8);
}

TEST(Layout, EarlierStagesHoldMoreMicroBatches) {
  EXPECT_EQ(micro_batches_in_flight(8, 4, 0), 4);
  EXPECT_EQ(micro_batches_in_flight(8, 4, 3), 1);
  EXPECT_EQ(micro_batches_in_flight(2, 4, 0), 2) << "no more than there are";
}

TEST(Layout, NamesItself) {
  EXPECT_EQ(to_string(Layout{.tp = 8, .pp = 2, .dp = 4, .zero = 1, .sequence_parallel = true}),
            "tp 8, pp 2, dp 4, ZeRO-1, sequence parallel");
}

std::string tp_refusal(int64_t tp, const ModelConfig& config) {
  try {
    check_tensor_parallel(tp, config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Layout, AWidthThatDoesNotFitIsRefusedWithThoseThatDo) {
  const ModelConfig config{.name = "six heads", .d_ff = 12, .kv_heads = 6};
  for (const int64_t tp : {1, 2, 3, 6}) EXPECT_EQ(tp_refusal(tp, config), "") << tp;
  EXPECT_EQ(tp_refusal(4, config),
            "--tp: '4' does not divide the 6 key/value heads and d_ff 12 of six heads; allowed: "
            "1, 2, 3, 6 (example: --tp 6)");
  EXPECT_EQ(tp_refusal(12, config),
            "--tp: '12' is wider than a node of 8 GPUs; allowed: 1, 2, 3, 6 (example: --tp 6)");
}

}  // namespace
}  // namespace headroom
