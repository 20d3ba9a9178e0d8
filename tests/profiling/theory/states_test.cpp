#include <gtest/gtest.h>

#include <algorithm>

#include "profiling/theory/rows.h"

namespace headroom {
namespace {

RunSpec small(Mode mode) {
  RunSpec spec;
  spec.model_size = "small";
  spec.context_length = 128;
  spec.profile_type = mode;
  spec.device = parse_device("cpu");
  return spec;
}

TEST(TheoryStates, EachModeHasItsOwn) {
  const int64_t weights = 4 * 128'625'408LL;
  auto rows = theory_rows(small(Mode::kForward));
  EXPECT_EQ(total(rows, kParameters), weights);
  EXPECT_EQ(total(rows, kGradients), 0);
  rows = theory_rows(small(Mode::kForwardBackward));
  EXPECT_EQ(total(rows, kGradients), weights);
  EXPECT_EQ(total(rows, kOptimizerState), 0);
  rows = theory_rows(small(Mode::kTraining));
  EXPECT_EQ(total(rows, kOptimizerState), 2 * weights);
}

TEST(TheoryStates, ImplementationsOfAdamwDifferInTemporaries) {
  RunSpec spec = small(Mode::kTraining);
  // The token table, the head: 10000 x 768. Five of them at the reference's peak, two of which are
  // state: the next m and v.
  EXPECT_EQ(total(theory_rows(spec), kOptimizerTemporaries), 3LL * 10000 * 768 * 4);
  EXPECT_EQ(total(theory_rows(spec), kOptimizerNextState), 2LL * 10000 * 768 * 4);
  EXPECT_EQ(predicted(spec).at("optimizer_state"), 2 * 4 * 128'625'408LL + 2LL * 10000 * 768 * 4);
  spec.optimizer_impl = OptimizerImpl::kForeach;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerTemporaries), 4 * 128'625'408LL);
  spec.optimizer_impl = OptimizerImpl::kFused;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerTemporaries), 0);
  EXPECT_EQ(total(theory_rows(spec), kOptimizerState), 2 * 4 * 128'625'408LL + 111 * 4);
}

const Row& row_of(const std::vector<Row>& rows, std::string_view tensor) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.tensor == tensor; });
  EXPECT_NE(found, rows.end()) << tensor;
  return found == rows.end() ? rows.front() : *found;
}

TEST(TheoryStates, In8BitsMatricesHaveBytesAndScalesAndNormsFp32) {
  RunSpec spec = small(Mode::kTraining);
  spec.optimizer = OptimizerKind::kAdam8bit;
  const auto rows = theory_rows(spec);
  const int64_t norms = 25 * 768;
  const int64_t matrices = 128'625'408LL - norms;
  EXPECT_EQ(total(rows, kOptimizerState), 2 * matrices + 2 * 4 * matrices / 256 + 8 * norms + 4096);
  EXPECT_EQ(to_string(row_of(rows, "attn.q_proj.m_DD").dtype), "uint8");
  EXPECT_EQ(to_string(row_of(rows, "ln1.m_D").dtype), "fp32");
  EXPECT_EQ(row_of(rows, "lm_head.v_scale").sizes, std::vector<int64_t>{10000 * 768 / 256});
  EXPECT_EQ(row_of(rows, "lm_head.v_scale").derivation, "V*D/256 * 4 B = 30000 * 4 B");
  // Chunks of 4 Mi elements, less than the token table.
  EXPECT_EQ(total(rows, kOptimizerTemporaries), 13LL << 22);
}

TEST(TheoryStates, AScaleOfABlockThatIsNotFullIsOneMore) {
  RunSpec spec = small(Mode::kTraining);
  spec.optimizer = OptimizerKind::kAdam8bit;
  spec.vocab_size = 6;  // 4608 elements: 18 blocks
  spec.d_ff = 2049;     // 6147 blocks each
  auto rows = theory_rows(spec);
  EXPECT_EQ(row_of(rows, "lm_head.m_scale").sizes, std::vector<int64_t>{18});
  spec.d_model = 132;  // 792 elements: FP32
  spec.heads = 6;
  rows = theory_rows(spec);
  EXPECT_EQ(to_string(row_of(rows, "lm_head.m_VD").dtype), "fp32");
  EXPECT_EQ(row_of(rows, "ffn.w2.m_scale").sizes, std::vector<int64_t>{(132 * 2049 + 255) / 256});
  // The largest has 1056 full blocks and a part of one.
  EXPECT_EQ(total(rows, kOptimizerTemporaries), 13 * (132 * 2049 / 256 * 256));
}

TEST(TheoryStates, AdamMiniHasOneSecondMomentForAHeadARowOrANorm) {
  RunSpec spec = small(Mode::kTraining);
  spec.optimizer = OptimizerKind::kAdamMini;
  spec.kv_heads = 3;
  const auto rows = theory_rows(spec);
  EXPECT_EQ(row_of(rows, "attn.q_proj.v").sizes, std::vector<int64_t>{12});
  EXPECT_EQ(row_of(rows, "attn.k_proj.v").sizes, std::vector<int64_t>{3});
  EXPECT_EQ(row_of(rows, "attn.v_proj.v_GK").sizes, std::vector<int64_t>{3 * 64});
  EXPECT_EQ(row_of(rows, "lm_head.v_V").sizes, std::vector<int64_t>{10000});
  EXPECT_EQ(row_of(rows, "ln1.v").bytes, 12 * 4) << "one for each of twelve layers";
  const int64_t of_layer = 12 + 3 + 3 * 64 + 768 + 2 * 3072 + 768 + 2;
  const int64_t blocks = 12 * of_layer + 2 * 10000 + 1;
  EXPECT_EQ(total(rows, kOptimizerState), total(rows, kParameters) + 4 * blocks);
  EXPECT_EQ(total(rows, kOptimizerTemporaries), 2 * 4 * 10000);
}

TEST(TheoryStates, WithBf16WeightsMomentsAreBf16AndWhatIsKeptIn8BitsIsNot) {
  RunSpec spec = small(Mode::kTraining);
  spec.weights = WeightType::kBf16;
  const int64_t elements = 128'625'408LL;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerState), 2 * 2 * elements);
  spec.optimizer = OptimizerKind::kLion;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerState), 2 * elements);
  spec.optimizer = OptimizerKind::kAdam8bit;
  const int64_t norms = 25 * 768;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerState),
            (2 + 8.0 / 256) * (elements - norms) + 8 * norms + 4096);
  EXPECT_EQ(total(theory_rows(spec), kOptimizerTemporaries), 17LL << 22)
      << "and the chunk's gradient in FP32";
}

TEST(TheoryStates, LionHasOneMomentAndADirection) {
  RunSpec spec = small(Mode::kTraining);
  spec.optimizer = OptimizerKind::kLion;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerState), 4 * 128'625'408LL);
  EXPECT_EQ(total(theory_rows(spec), kOptimizerTemporaries), 4LL * 10000 * 768);
  spec.optimizer_impl = OptimizerImpl::kForeach;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerTemporaries), 4 * 128'625'408LL);
}

TEST(TheoryStates, TheFirstUpdateHasNoOldStateBesideTheNew) {
  RunSpec spec = small(Mode::kTraining);
  spec.warmup_steps = 0;
  spec.measure_steps = 0;
  spec.record_steps = 1;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerNextState), 0);
  EXPECT_EQ(predicted(spec).at("optimizer_state"), 2 * 4 * 128'625'408LL);
  spec.record_steps = 2;
  EXPECT_EQ(total(theory_rows(spec), kOptimizerNextState), 2LL * 10000 * 768 * 4);
}

TEST(TheoryStates, AutocastCastsWhatGoesThroughAMatrixProduct) {
  RunSpec spec = small(Mode::kForward);
  spec.device = parse_device("cuda");
  EXPECT_EQ(total(theory_rows(spec), kCastCache), 0);
  spec.precision = Precision::kBf16;
  // All but the token table and 25 norm weights, even without a graph.
  EXPECT_EQ(total(theory_rows(spec), kCastCache), 2 * (120'945'408LL - 25 * 768));
  spec.precision = Precision::kTf32;
  EXPECT_EQ(total(theory_rows(spec), kCastCache), 0);
}

// Autocast's CPU list has no einsum, so only a graph keeps the casts of its products.
TEST(TheoryStates, OnTheCpuWithoutAGraphOneWeightIsCastAtATime) {
  RunSpec spec = small(Mode::kForward);
  EXPECT_EQ(total(theory_rows(spec), kPassingCast), 0);
  spec.precision = Precision::kBf16;
  EXPECT_EQ(total(theory_rows(spec), kCastCache), 0);
  EXPECT_EQ(total(theory_rows(spec), kPassingCast), 2 * 10000 * 768) << "the output head";
  EXPECT_EQ(predicted(spec).at("cast_cache"), 2 * 10000 * 768);
  spec.profile_type = Mode::kForwardGrad;
  EXPECT_EQ(total(theory_rows(spec), kCastCache), 2 * (120'945'408LL - 25 * 768));
  EXPECT_EQ(total(theory_rows(spec), kPassingCast), 0);
}

// einsum over one number is an elementwise product on the CPU: 2432 bytes measured for this shape.
TEST(TheoryStates, OnTheCpuAProductOverOneNumberCastsNothing) {
  RunSpec spec = small(Mode::kTraining);
  spec.model_size = "custom";
  spec.d_model = 8;
  spec.d_ff = 1;
  spec.layers = 3;
  spec.heads = spec.kv_heads = 2;
  spec.vocab_size = 50;
  spec.precision = Precision::kBf16;
  EXPECT_EQ(predicted(spec).at("cast_cache"), 2432);
  spec.d_ff = 2;
  EXPECT_EQ(predicted(spec).at("cast_cache"), 2432 + 3 * 2 * (8 * 2 + 2 * 8));
}

TEST(TheoryStates, GroupedHeadsShrinkTheKeyAndValueProjections) {
  RunSpec spec = small(Mode::kForward);
  spec.kv_heads = 3;
  EXPECT_EQ(total(theory_rows(spec), kParameters),
            4 * (128'625'408LL - 12 * 2 * 768 * (768 - 3 * 64)));
}

TEST(TheoryStates, LowPrecisionWeightsKeepTheBytesThatPlansSay) {
  constexpr int64_t kParameterCount = 128'625'408;
  RunSpec spec = small(Mode::kTraining);
  spec.optimizer_impl = OptimizerImpl::kForeach;
  const auto bytes_of = [&](const char* group) { return total(theory_rows(spec), group); };
  const auto agree = [&](const char* name, int64_t bytes_each) {
    const StatePrecision& plan = find_state_precision(name);
    EXPECT_EQ(bytes_of(kParameters), plan.weight * kParameterCount) << name;
    EXPECT_EQ(bytes_of(kGradients), plan.gradient * kParameterCount) << name;
    EXPECT_EQ(bytes_of(kMasterWeights), plan.master * kParameterCount) << name;
    EXPECT_EQ(bytes_of(kOptimizerState), 2 * plan.moment * kParameterCount) << name;
    EXPECT_EQ(bytes_of(kParameters) + bytes_of(kGradients) + bytes_of(kMasterWeights) +
                  bytes_of(kOptimizerState),
              bytes_each * kParameterCount)
        << name;
  };
  agree("fp32", 16);
  spec.weights = WeightType::kBf16;
  agree("bf16-pure", 8);
  EXPECT_EQ(bytes_of(kOptimizerTemporaries), 2 * kParameterCount) << "the denominators";
  spec.rounding = Rounding::kStochastic;
  agree("bf16-pure", 8);
  EXPECT_EQ(bytes_of(kOptimizerTemporaries), (3LL * 4 + 11) * 10000 * 768)
      << "while the largest tensor is rounded";
  spec.rounding = Rounding::kNearest;
  spec.master_weights = MasterCopy::kFp32;
  agree("bf16-mixed", 16);
  EXPECT_EQ(bytes_of(kOptimizerTemporaries), (4 + 4) * kParameterCount) << "FP32 gradients, too";
  spec.optimizer_impl = OptimizerImpl::kReference;
  EXPECT_EQ(bytes_of(kOptimizerTemporaries), 4LL * 4 * 10000 * 768) << "of the largest tensor";
  EXPECT_FALSE(predicted(small(Mode::kTraining)).contains("master_weights"));
  EXPECT_EQ(predicted(spec).at("master_weights"), 4 * kParameterCount);
}

TEST(TheoryStates, TablesInputsAndTheLossScalerByHand) {
  RunSpec spec = small(Mode::kTraining);
  spec.precision = Precision::kFp16;
  const auto rows = theory_rows(spec);
  EXPECT_EQ(total(rows, kTables), 2 * 128 * 32 * 4);
  EXPECT_EQ(total(rows, kInputs), 2 * 4 * 128 * 8);
  EXPECT_EQ(total(rows, kLossScaler), 12);
}

}  // namespace
}  // namespace headroom
