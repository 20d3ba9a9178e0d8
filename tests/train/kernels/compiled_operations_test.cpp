// Compiled operations beside ATen's, bit by bit, on the CPU. Compiles them first (a minute).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/launch/preparation/compiled_regions.h"
#include "tests/files/scratch_directory.h"
#include "tests/support/at_night.h"
#include "train/kernels/operations/operation_settings.h"
#include "train/optim/optimizer.h"
#include "train/techniques/activations/quantize.h"
#include "train/techniques/stochastic_rounding.h"

namespace headroom {
namespace {

using torch::Tensor;

RunSpec spec_of(OptimizerKind optimizer) {
  RunSpec spec;
  spec.device.kind = DeviceKind::kCpu;
  spec.profile_type = Mode::kTraining;
  spec.kernels = Kernels::kCompiled;
  spec.optimizer = optimizer;
  return spec;
}

RunSpec eager(RunSpec spec) {
  spec.kernels = Kernels::kEager;
  return spec;
}

void compile_for(const RunSpec& spec) { compile_libraries(operation_settings(spec), {}); }

// A matrix with several chunks and a block that is not full, a square one, a norm.
std::vector<Tensor> parameters() {
  torch::manual_seed(1);
  std::vector<Tensor> all = {torch::randn({700, 768}), torch::randn({64, 67}), torch::randn({64})};
  for (Tensor& one : all) one.requires_grad_();
  return all;
}

const std::vector<std::string> kNames = {"output_head.weight", "token_embedding.weight",
                                         "final_norm.weight"};

// Steps with the same gradients; some elements are 0, and one in a thousand is infinite.
std::vector<Tensor> after_steps(const RunSpec& spec, bool has_infinities) {
  std::vector<Tensor> weights = parameters();
  const auto optimizer = make_optimizer(spec, weights, {.names = kNames});
  for (int step = 0; step < 4; ++step) {
    for (Tensor& weight : weights) {
      Tensor gradient = torch::randn_like(weight) * torch::pow(10, -6 * torch::rand_like(weight));
      gradient.masked_fill_(torch::rand_like(weight) < 0.01, 0);
      if (has_infinities) gradient.masked_fill_(torch::rand_like(weight) < 0.001, INFINITY);
      weight.mutable_grad() = gradient.detach();
    }
    optimizer->step();
  }
  std::vector<Tensor> all = optimizer->state();
  all.insert(all.begin(), weights.begin(), weights.end());
  return all;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return torch::equal(a.contiguous().view(torch::kByte), b.contiguous().view(torch::kByte));
}

class CompiledOperations : public ::testing::Test {
 protected:
  // By day CTest gives a cache that stays in the build folder.
  static void SetUpTestSuite() {
    setenv("XDG_CACHE_HOME", cache().path().c_str(), is_at_night() ? 1 : 0);
  }

  static const ScratchDirectory& cache() {
    static const ScratchDirectory kCache;
    return kCache;
  }

  // The first `exact` tensors from the end are equal bit for bit, the weights within `allowed`.
  static void compare(OptimizerKind optimizer, bool has_infinities, double allowed) {
    const RunSpec spec = spec_of(optimizer);
    compile_for(spec);
    ASSERT_TRUE(has_compiled_update(spec));
    const std::vector<Tensor> here = after_steps(spec, has_infinities);
    const std::vector<Tensor> there = after_steps(eager(spec), has_infinities);
    ASSERT_EQ(here.size(), there.size());
    for (size_t i = 0; i < here.size(); ++i) {
      const bool is_weight = i < kNames.size();
      if (is_weight && allowed > 0) {
        EXPECT_LE((here[i] - there[i]).abs().max().item<double>(), allowed) << i;
      } else {
        EXPECT_TRUE(same_bits(here[i], there[i])) << i;
      }
    }
  }
};

TEST_F(CompiledOperations, LionIsEqual) { compare(OptimizerKind::kLion, false, 0); }

TEST_F(CompiledOperations, AdamMiniIsEqual) { compare(OptimizerKind::kAdamMini, false, 0); }

// The root of ATen on a CPU is that of MKL, which is not rounded to the nearest.
TEST_F(CompiledOperations, EightBitAdamHasTheSameStates) {
  constexpr double kLastBit = 1e-6;
  compare(OptimizerKind::kAdam8bit, true, kLastBit);
}

TEST_F(CompiledOperations, RoundingIsEqual) {
  RunSpec spec = spec_of(OptimizerKind::kAdamw);
  spec.weights = WeightType::kBf16;
  spec.rounding = Rounding::kStochastic;
  compile_for(spec);
  const OperationPtr compiled = compiled_operation(spec, "round_to_bf16", torch::kCPU);
  ASSERT_TRUE(compiled);
  Tensor numbers = torch::randn({1001, 33});
  numbers[3][5] = INFINITY;
  numbers[4][6] = NAN;
  at::Generator generator = at::globalContext().defaultGenerator(torch::kCPU).clone();
  at::Generator same = generator.clone();
  EXPECT_TRUE(same_bits(round_stochastically(numbers, generator, compiled),
                        round_stochastically(numbers, same)));
}

void compare_packing(ActivationForm form) {
  constexpr at::ScalarType type = torch::kFloat16;
  RunSpec spec = spec_of(OptimizerKind::kAdamw);
  spec.activations.form = form;
  spec.precision = Precision::kFp16;
  compile_libraries(operation_settings(spec), {});
  const CompiledPacking packing = compiled_packing(spec, torch::kCPU);
  ASSERT_TRUE(packing.pack.at(type) && packing.unpack.at(type));
  Tensor numbers = torch::randn({300 * 64 + 17}).mul_(3).to(type);
  numbers.narrow(0, 64, 64).zero_();
  numbers[200] = INFINITY;
  numbers[300] = NAN;
  const Quantized here = quantize(numbers, spec.activations, packing);
  const Quantized there = quantize(numbers, spec.activations);
  const Tensor finite = there.scales.isfinite().repeat_interleave(64).narrow(0, 0, numbers.numel());
  EXPECT_TRUE(torch::equal(here.codes.view(torch::kByte).masked_select(finite),
                           there.codes.view(torch::kByte).masked_select(finite)));
  // A NaN may have other bits.
  EXPECT_TRUE(same_bits(here.scales.nan_to_num(-1), there.scales.nan_to_num(-1)));
  Tensor back = torch::empty_like(numbers), expected = torch::empty_like(numbers);
  dequantize(here, back, packing);
  dequantize(here, expected);
  EXPECT_TRUE(torch::equal(back.masked_select(finite), expected.masked_select(finite)));
  EXPECT_TRUE(back.masked_select(~finite).isnan().all().item<bool>());
}

// The types that the host's own code does not take.
TEST_F(CompiledOperations, PackingInInt8) { compare_packing(ActivationForm::kInt8); }

TEST_F(CompiledOperations, PackingInFp8) { compare_packing(ActivationForm::kFp8); }

}  // namespace
}  // namespace headroom
