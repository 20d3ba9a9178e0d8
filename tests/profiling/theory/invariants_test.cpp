#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "model/parameter_table.h"
#include "profiling/theory/rows.h"

namespace headroom {
namespace {

constexpr const char* kGroups[] = {kBlock,
                                   kEmbedding,
                                   kFinalNorm,
                                   kHead,
                                   kLoss,
                                   kRecomputed,
                                   kRecomputedCast,
                                   kParameters,
                                   kMasterWeights,
                                   kGradients,
                                   kOptimizerState,
                                   kOptimizerNextState,
                                   kOptimizerTemporaries,
                                   kLossScaler,
                                   kCastCache,
                                   kPassingCast,
                                   kTables,
                                   kInputs};

template <typename T, size_t N>
T pick(std::mt19937& generator, const T (&choices)[N]) {
  return choices[generator() % N];
}

RunSpec random_spec(std::mt19937& generator) {
  const auto number = [&](int64_t most) { return static_cast<int64_t>(generator() % most) + 1; };
  RunSpec spec;
  spec.model_size = "custom";
  spec.kv_heads = number(4);
  spec.heads = spec.kv_heads * number(4);
  spec.d_model = spec.heads * 2 * number(32);
  spec.d_ff = number(512);
  spec.layers = number(6);
  spec.vocab_size = number(1000);
  spec.context_length = number(64);
  spec.batch_size = number(8);
  spec.profile_type = pick(
      generator, {Mode::kForward, Mode::kForwardGrad, Mode::kForwardBackward, Mode::kTraining});
  spec.precision = pick(generator, {Precision::kFp32, Precision::kTf32, Precision::kBf16,
                                    Precision::kFp16, Precision::kFp8});
  if (spec.precision == Precision::kFp32) {
    spec.weights = pick(generator, {WeightType::kFp32, WeightType::kBf16});
  }
  if (spec.weights == WeightType::kBf16) {
    spec.master_weights = pick(generator, {MasterCopy::kNone, MasterCopy::kFp32});
  }
  spec.attention = pick(generator, {Attention::kEager, Attention::kSdpa, Attention::kMath});
  spec.optimizer_impl =
      pick(generator, {OptimizerImpl::kReference, OptimizerImpl::kForeach, OptimizerImpl::kFused});
  spec.device = parse_device(pick(generator, {"cpu", "cuda", "auto"}));
  return spec;
}

int64_t sum(const std::vector<Row>& rows) {
  int64_t bytes = 0;
  for (const Row& row : rows) bytes += row.bytes;
  return bytes;
}

TEST(TheoryInvariants, HoldOverAThousandRandomConfigurations) {
  std::mt19937 generator(1);
  for (int i = 0; i < 1000; ++i) {
    RunSpec spec = random_spec(generator);
    const auto rows = theory_rows(spec);
    int64_t of_groups = 0;
    for (const char* group : kGroups) of_groups += total(rows, group);
    ASSERT_EQ(of_groups, sum(rows)) << to_json(spec).dump();
    for (const Row& row : rows) {
      int64_t product = element_size(row.dtype) * row.storages;
      for (const int64_t size : row.sizes) product *= size;
      ASSERT_EQ(row.bytes, product) << row.tensor;
      ASSERT_FALSE(row.source.empty()) << row.tensor;
      ASSERT_EQ(row.measured, spec.device.kind == DeviceKind::kCpu) << row.tensor;
    }
    const StatePrecision& kept = state_precision(spec);
    const int64_t parameters = parameter_count(model_config(spec));
    ASSERT_EQ(total(rows, kParameters), kept.weight * parameters);
    if (spec.profile_type == Mode::kTraining) {
      ASSERT_EQ(total(rows, kGradients), kept.gradient * parameters);
      ASSERT_EQ(total(rows, kMasterWeights), kept.master * parameters);
    }
    ASSERT_EQ(residual_bytes_per_block(spec), total(rows, kBlock));

    const int64_t all = sum(rows);
    RunSpec larger = spec;
    ++larger.batch_size;
    ASSERT_GT(sum(theory_rows(larger)), all) << "batch " << to_json(spec).dump();
    larger = spec;
    ++larger.context_length;
    ASSERT_GT(sum(theory_rows(larger)), all) << "context " << to_json(spec).dump();
    larger = spec;
    ++larger.layers;
    ASSERT_GT(sum(theory_rows(larger)), all) << "layers " << to_json(spec).dump();
  }
}

TEST(TheoryInvariants, FusedAttentionNeverKeepsMoreThanEagerAtLongContext) {
  for (const char* size : {"small", "medium", "large", "xl", "2.7B"}) {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      RunSpec spec;
      spec.model_size = size;
      spec.profile_type = Mode::kForwardGrad;
      spec.precision = precision;
      spec.device = parse_device("cpu");
      const int64_t eager = residual_bytes_per_block(spec);
      spec.attention = Attention::kSdpa;
      EXPECT_LT(residual_bytes_per_block(spec), eager) << size;
    }
  }
}

}  // namespace
}  // namespace headroom
