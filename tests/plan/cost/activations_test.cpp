// The tensors that a block keeps, by hand, and the effect of tensor parallelism and checkpointing.
#include <gtest/gtest.h>

#include "profiling/theory/activations/forward.h"
#include "tests/plan/rlhf/small_plan.h"

namespace headroom {
namespace {

RlhfSpec autocast_plan() {
  RlhfSpec spec = small_plan();
  spec.precision = find_state_precision("bf16");
  return spec;
}

constexpr int64_t kTokens = 2 * 16;
constexpr int64_t kStream = kTokens * 8;  // elements of one (B, S, D)

// BF16 autocast, flash attention. Bytes of one block: tensors of width D ...
constexpr int64_t kWhole = 2 * kTokens * 4          // both norms' inverse_rms
                           + 2 * kStream * 4        // both norms' normalized input
                           + (3 + 2) * kStream * 2  // casts of their outputs
                           + 2 * kStream * 4;       // attended, output
// ... and tensors split by heads or d_ff.
constexpr int64_t kSplit = 3 * kStream * 2          // q, attention and its merged copy
                           + 2 * kTokens * 4 * 2    // k, v: two heads of two
                           + kTokens * 4 * 4        // logsumexp
                           + 5 * kTokens * 16 * 2;  // w1_x, sigmoid, silu, w3_x, gate
constexpr int64_t kRandomState = 3 * 8;  // for the flash kernel: two words and an unused one

TEST(Activations, OfFourBlocksAndTheTokenTableByHand) {
  const RankMemory memory = memory_of(autocast_plan());
  EXPECT_EQ(bytes_of(memory, "Activations"), 4 * (kWhole + kSplit + kRandomState) + kStream * 4);
}

TEST(Activations, AreDividedWhereHeadsAndFeedForwardAre) {
  RlhfSpec spec = autocast_plan();
  spec.num_gpus = 2;
  spec.setup.layout.tp = 2;
  EXPECT_EQ(bytes_of(memory_of(spec), "Activations"),
            4 * (kWhole + kSplit / 2 + kRandomState) + kStream * 4);
  spec.setup.layout.sequence_parallel = true;
  EXPECT_EQ(bytes_of(memory_of(spec), "Activations"),
            4 * (kWhole / 2 + kSplit / 2 + kRandomState) + kStream * 2);
}

TEST(Activations, UnderFullCheckpointingAreOneStreamTensorPerBlock) {
  RlhfSpec spec = autocast_plan();
  spec.setup.checkpoint = {CheckpointKind::kFull};
  const RankMemory memory = memory_of(spec);
  EXPECT_EQ(bytes_of(memory, "Activations"), 5 * kStream * 4);
  // The recomputed block is larger than ten logits per token.
  const int64_t casts = 2 * (64 + 64 + 32 + 32 + 3 * 128);  // of its weights
  EXPECT_EQ(bytes_of(memory, "Recomputed block"),
            kWhole + kSplit + kRandomState - kStream * 4 + casts);
  EXPECT_EQ(bytes_of(memory, "Logits and loss"), 0);
}

TEST(Activations, SelectiveCheckpointingDropsWhatIsScoresWide) {
  RlhfSpec spec = autocast_plan();
  spec.attention = Attention::kEager;
  const int64_t all = bytes_of(memory_of(spec), "Activations");
  spec.setup.checkpoint = {CheckpointKind::kSelective};
  const int64_t scores = 2 * 4 * 16 * 16;      // elements of (B, H, S, T)
  const int64_t core = scores * (4 + 2)        // exp, weights
                       + 2 * 4 * 16 * (8 + 4)  // max_indices, sum
                       + 16 * 16;              // mask
  EXPECT_EQ(bytes_of(memory_of(spec), "Activations"), all - 4 * core);
}

TEST(Activations, OfAPipelineStageAreThoseOfItsMicroBatchesInFlight) {
  RlhfSpec spec = autocast_plan();
  spec.batch_size = 8;
  spec.setup.micro_batch_size = 2;
  spec.num_gpus = 2;
  spec.setup.layout.pp = 2;
  const int64_t block = kWhole + kSplit + kRandomState;
  EXPECT_EQ(bytes_of(memory_of(spec, 0), "Activations"), 2 * (2 * block + kStream * 4));
  EXPECT_EQ(bytes_of(memory_of(spec, 1), "Activations"), 2 * block);
}

// 16 bytes per logit when backward starts, and 4 for the entropy's probabilities.
TEST(Activations, LogitsTakeTwentyBytesWithEntropyAndSixteenWithout) {
  RlhfSpec spec = autocast_plan();
  const int64_t logits = kTokens * 10;
  const int64_t per_token = kTokens * (8 + 4);  // max_indices, sum
  const int64_t norm = kTokens * 4 + kStream * (4 + 2);
  EXPECT_EQ(bytes_of(memory_of(spec), "Logits and loss"), 20 * logits + per_token + norm + 4);
  spec.response_len = 0;
  EXPECT_EQ(bytes_of(memory_of(spec), "Logits and loss"), 16 * logits + per_token + norm + 4);
}

// The virtual GPU's measurements (results/virtual): the assignment's 2.7B, batch 4.
TEST(ForwardTemporaries, AreWhatAForwardWithoutGradientsWasMeasuredToHold) {
  RunSpec spec{.model_size = "2.7B", .batch_size = 4, .device = parse_device("cuda")};
  for (const auto& [context, bytes] :
       {std::pair<int64_t, int64_t>{128, 83886080}, {256, 186845184}, {512, 642256896}}) {
    spec.context_length = context;
    EXPECT_EQ(forward_temporaries(spec), bytes) << context;
  }
  spec.precision = Precision::kBf16;
  EXPECT_EQ(forward_temporaries(spec), 497553408);
}

}  // namespace
}  // namespace headroom
