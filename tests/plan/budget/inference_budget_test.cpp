#include "plan/budget/inference_budget.h"

#include <gtest/gtest.h>

#include <random>

#include "plan/budget/engine_lines.h"
#include "plan/budget/report.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

ModelConfig llama_8b() {
  return {.name = "custom",
          .d_model = 4096,
          .d_ff = 14336,
          .layers = 32,
          .heads = 32,
          .kv_heads = 8,
          .vocab_size = 128256};
}

Card round_card() {
  return {.name = "round",
          .compute_capability = "9.0",
          .multiprocessors = 132,
          .total_bytes = 80 * kGiB,
          .context_bytes = kGiB};
}

EngineSpec engine_8b() { return {.model = llama_8b(), .card = round_card()}; }

// Every line is given: only the cache is computed.
EngineSpec given_lines() {
  EngineSpec spec = engine_8b();
  spec.utilization = 0.5;
  spec.weights = 10 * kGiB;
  spec.activations = 2 * kGiB;
  spec.non_torch = kGiB;
  spec.graphs = kGiB;
  return spec;
}

int64_t sum(const std::vector<BudgetLine>& lines) {
  int64_t bytes = 0;
  for (const BudgetLine& line : lines) bytes += line.bytes;
  return bytes;
}

std::string refusal(const EngineSpec& spec) {
  try {
    validate(spec);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(InferenceBudget, ABlockIsKeysAndValuesOfSixteenTokens) {
  // 2 x 32 layers x 8 heads x 128 x 2 bytes x 16 tokens.
  EXPECT_EQ(cache_block_bytes(engine_8b()), 2 << 20);
  EngineSpec spec = engine_8b();
  spec.tp = 4;
  spec.cache = ElementType::kFp8;
  EXPECT_EQ(cache_block_bytes(spec), 1 << 18);
}

TEST(InferenceBudget, ATiedHeadIsNoSecondMatrix) {
  // Llama 3.2 1B by its config.json: 1,235,814,400 parameters, 262,668,288 of them in the table.
  EngineSpec spec = engine_8b();
  spec.model.d_model = 2048;
  spec.model.d_ff = 8192;
  spec.model.layers = 16;
  const int64_t untied = weight_line(spec).bytes;
  spec.tied_embeddings = true;
  EXPECT_EQ(weight_line(spec).bytes, 2 * int64_t{1235814400});
  EXPECT_EQ(untied - weight_line(spec).bytes, 2 * int64_t{262668288});
  spec.tp = 2;
  EXPECT_LT(weight_line(spec).bytes, int64_t{1235814400} + (1 << 20));
}

TEST(InferenceBudget, WhatDoesNotFitSaysWhatThatAssumes) {
  EngineSpec spec = engine_8b();
  EXPECT_TRUE(inference_budget(spec).fits());
  EXPECT_EQ(budget_report(spec).front().notes.size(), 0);
  spec.card.total_bytes = 18 * kGiB;
  spec.tp = 1;
  EXPECT_FALSE(inference_budget(spec).fits());
  std::string all;
  const std::vector<Table> report = budget_report(spec);
  for (const std::string& line : report.front().notes) all += line + "\n";
  EXPECT_NE(all.find("that assumes 256.000 MiB for Beside torch: kernels: 0.24 to 0.27 GiB in "
                     "llm-d-planner's logs of vLLM 0.19 on H100"),
            std::string::npos)
      << all;
}

TEST(InferenceBudget, ALogsCacheGivesItsBlocks) {
  // vLLM 0.19 printed 29751 blocks and 58.11 GiB; rounding to 0.01 GiB is 2.6 blocks.
  EngineSpec spec = engine_8b();
  spec.max_model_len = 16384;
  spec.cache_bytes = parse_bytes("--kv-cache-memory", "58.11GiB");
  const InferenceBudget budget = inference_budget(spec);
  EXPECT_EQ(budget.blocks, 29752);
  EXPECT_EQ(budget.tokens(spec), 476032);
  EXPECT_EQ(budget.blocks / budget.blocks_per_sequence, 29);
  EXPECT_NEAR(budget.sequences(), 29.05, 0.005);
}

TEST(InferenceBudget, TheCacheIsWhatTheLinesLeaveOfTheShare) {
  const InferenceBudget budget = inference_budget(given_lines());
  EXPECT_EQ(budget.share, 40 * kGiB);
  EXPECT_EQ(budget.cache, 27 * kGiB);
  EXPECT_EQ(budget.blocks, 27 * 512);
  EXPECT_EQ(budget.left, 38 * kGiB);  // 80 - 40 - context - graphs
  EXPECT_TRUE(budget.starts());
}

TEST(InferenceBudget, GraphsInsideTheShareCostCacheAndNotTraining) {
  EngineSpec spec = given_lines();
  spec.graphs_inside = true;
  const InferenceBudget budget = inference_budget(spec);
  EXPECT_EQ(budget.cache, 26 * kGiB);
  EXPECT_EQ(budget.left, 39 * kGiB);
}

TEST(InferenceBudget, WithoutGraphsTheirMemoryIsTrainings) {
  EngineSpec spec = given_lines();
  spec.enforce_eager = true;
  const InferenceBudget budget = inference_budget(spec);
  EXPECT_EQ(budget.cache, 27 * kGiB);
  EXPECT_EQ(budget.left, 39 * kGiB);
}

TEST(InferenceBudget, AGivenCacheDecidesTheShare) {
  EngineSpec spec = given_lines();
  spec.cache_bytes = 5 * kGiB;
  const InferenceBudget budget = inference_budget(spec);
  EXPECT_EQ(budget.share, 18 * kGiB);
  EXPECT_EQ(budget.left, 60 * kGiB);
}

TEST(InferenceBudget, AShareTooSmallSaysByHowMuch) {
  EngineSpec spec = given_lines();
  spec.utilization = 0.1;
  const InferenceBudget budget = inference_budget(spec);
  EXPECT_EQ(budget.missing, 5 * kGiB);
  EXPECT_EQ(budget.blocks, 0);
  EXPECT_EQ(budget_report(spec).front().notes.front(),
            "no cache: the share is 5.000 GiB short of weights and activations; more "
            "--gpu-memory-utilization or --tp");
}

TEST(InferenceBudget, TheWholeCardIsNotFreeAtTheStart) {
  EngineSpec spec = given_lines();
  spec.utilization = 1;
  EXPECT_FALSE(inference_budget(spec).starts());
  EXPECT_EQ(budget_report(spec).front().notes.front(),
            "would not start: 79.000 GiB of the card are free then, and the engine asks for 80.000 "
            "GiB");
  spec.utilization = 79.0 / 80;
  EXPECT_TRUE(inference_budget(spec).starts());
  EXPECT_EQ(budget_report(spec).front().notes.front(),
            "would run out of memory when CUDA graphs are captured: 1.000 GiB short");
}

TEST(InferenceBudget, TensorParallelismSplitsMatricesAndKeepsNormsWhole) {
  EngineSpec spec = engine_8b();
  EXPECT_EQ(weight_line(spec).bytes, 2 * int64_t{8'030'261'248});
  spec.tp = 2;
  // (8,030,261,248 - 266,240 of norms) / 2 + 266,240.
  EXPECT_EQ(weight_line(spec).bytes, 2 * int64_t{4'015'263'744});
}

TEST(InferenceBudget, TheRotaryTableHasTheModelsContext) {
  EngineSpec spec = engine_8b();
  spec.max_model_len = 16384;
  EXPECT_EQ(rotary_line(spec).bytes, 16384 * 128 * 2);
  spec.model.max_context = 131072;
  EXPECT_EQ(rotary_line(spec).bytes, 131072 * 128 * 2);
}

TEST(InferenceBudget, ALargeVocabularyPeaksWhenTokensAreDrawn) {
  EngineSpec spec = engine_8b();
  spec.max_num_seqs = 1024;
  // 1024 x 14 x 128256, 132 x 4 x 128256, 9216 x 4096 x 2, 32 MiB of cuBLAS.
  EXPECT_EQ(activation_line(spec).bytes,
            int64_t{1'838'678'016} + 67'719'168 + 75'497'472 + 33'554'432);
  spec.tp = 4;  // every rank has all logits
  EXPECT_EQ(activation_line(spec).bytes, int64_t{2'015'449'088});
}

TEST(InferenceBudget, ASmallVocabularyPeaksInTheFeedForward) {
  EngineSpec spec = engine_8b();
  spec.model.d_ff = 11008;
  spec.model.vocab_size = 32016;
  // 8192 tokens x 2 bytes x (3 x 11008 + 4 x 4096), 32 MiB of cuBLAS.
  EXPECT_EQ(activation_line(spec).bytes, 809'500'672 + 33'554'432);
}

TEST(InferenceBudget, CaptureSizesAreVllms) {
  EXPECT_EQ(capture_sizes(1024), 51);
  EXPECT_EQ(capture_sizes(256), 51);
  EXPECT_EQ(capture_sizes(1), 2);     // 1, 2
  EXPECT_EQ(capture_sizes(8), 5);     // 1, 2, 4, 8, 16
  EXPECT_EQ(capture_sizes(128), 35);  // the default of vLLM before 0.10
}

class RandomEngines : public testing::Test {
 protected:
  int64_t pick(const std::vector<int64_t>& values) {
    return values[std::uniform_int_distribution<size_t>(0, values.size() - 1)(random_)];
  }
  EngineSpec next() {
    EngineSpec spec = {.card = round_card()};
    const int64_t kv_heads = 8 * pick({1, 2, 4});
    const int64_t heads = kv_heads * pick({1, 2, 8});
    spec.model = {.name = "custom",
                  .d_model = heads * pick({64, 128}),
                  .d_ff = 8 * pick({128, 1376, 3584}),
                  .layers = pick({1, 16, 80}),
                  .heads = heads,
                  .kv_heads = kv_heads,
                  .vocab_size = pick({32000, 50257, 128256})};
    spec.utilization = std::uniform_real_distribution<double>(0.01, 1)(random_);
    spec.tp = pick({1, 2, 4});
    spec.max_num_seqs = pick({1, 64, 1024});
    spec.block_size = pick({1, 16, 128});
    spec.graphs_inside = pick({0, 1}) == 1;
    validate(spec);
    return spec;
  }

  std::mt19937 random_{1};
};

TEST_F(RandomEngines, EveryByteOfTheCardIsInOneLine) {
  for (int i = 0; i < 1000; ++i) {
    const EngineSpec spec = next();
    const InferenceBudget budget = inference_budget(spec);
    ASSERT_EQ(budget.share + sum(budget.outside) + budget.left, spec.card.total_bytes);
    ASSERT_EQ(sum(budget.inside) + budget.cache - budget.missing, budget.share);
    ASSERT_LE(budget.blocks * budget.block_bytes, budget.cache);
    ASSERT_GT((budget.blocks + 1) * budget.block_bytes, budget.cache);
  }
}

TEST_F(RandomEngines, MoreUtilizationNeverGivesFewerBlocks) {
  for (int i = 0; i < 1000; ++i) {
    EngineSpec spec = next();
    const InferenceBudget less = inference_budget(spec);
    spec.utilization = std::min(1.0, spec.utilization + 0.05);
    const InferenceBudget more = inference_budget(spec);
    ASSERT_GE(more.blocks, less.blocks);
    ASSERT_LE(more.left, less.left);
  }
}

TEST_F(RandomEngines, WiderTensorParallelismNeverGivesFewerBlocks) {
  for (int i = 0; i < 1000; ++i) {
    EngineSpec spec = next();
    spec.activations = spec.non_torch = spec.graphs = kGiB;  // these do grow
    const int64_t blocks = inference_budget(spec).blocks;
    spec.tp *= 2;
    ASSERT_GE(inference_budget(spec).blocks, blocks);
  }
}

TEST_F(RandomEngines, Fp8HasTwiceTheBlocks) {
  for (int i = 0; i < 1000; ++i) {
    EngineSpec spec = next();
    const int64_t blocks = inference_budget(spec).blocks;
    spec.cache = ElementType::kFp8;
    ASSERT_NEAR(inference_budget(spec).blocks, 2 * blocks, 1);
  }
}

TEST(InferenceBudget, WhatDoesNotFitTogetherIsRefusedInOneLine) {
  EngineSpec spec = engine_8b();
  spec.tp = 3;
  EXPECT_EQ(refusal(spec),
            "--tp: '3' does not divide the 8 key/value heads and d_ff 14336 of custom; allowed: "
            "1, 2, 4, 8 (example: --tp 8)");
  spec = engine_8b();
  spec.model.max_context = 8192;
  spec.max_model_len = 8193;
  EXPECT_EQ(refusal(spec),
            "--max-model-len: '8193' is beyond the context of custom; allowed: 1 to 8192 (example: "
            "--max-model-len 8192)");
}

TEST(InferenceBudget, NoProductOverflows) {
  const auto refused = [](const auto& change) {
    EngineSpec spec = engine_8b();
    change(spec);
    return refusal(spec).find("beyond 2^59 bytes") != std::string::npos;
  };
  constexpr int64_t kHuge = int64_t{1} << 40;
  EXPECT_TRUE(refused([](EngineSpec& spec) { spec.model.layers = kHuge; }));
  EXPECT_TRUE(refused([](EngineSpec& spec) {
    spec.model = {
        .d_model = 2, .d_ff = 1, .layers = kHuge, .heads = 1, .kv_heads = 1, .vocab_size = 1};
  }));
  EXPECT_TRUE(refused([](EngineSpec& spec) { spec.model.vocab_size = 64 * kHuge; }));
  EXPECT_TRUE(refused([](EngineSpec& spec) { spec.max_num_batched_tokens = 4 * kHuge; }));
  EXPECT_TRUE(refused([](EngineSpec& spec) { spec.max_num_seqs = kHuge; }));
  EXPECT_TRUE(refused([](EngineSpec& spec) { spec.block_size = kHuge; }));
  EXPECT_TRUE(refused([](EngineSpec& spec) { spec.max_model_len = 64 * kHuge; }));
  EXPECT_TRUE(refused([](EngineSpec& spec) { spec.cache_bytes = int64_t{1} << 60; }));
  // The largest accepted: no sum overflows.
  EngineSpec spec = engine_8b();
  spec.weights = spec.activations = spec.non_torch = spec.graphs = spec.cache_bytes = int64_t{5}
                                                                                      << 56;
  validate(spec);
  EXPECT_LT(inference_budget(spec).left, 0);
}

}  // namespace
}  // namespace headroom
