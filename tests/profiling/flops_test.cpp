#include "profiling/flops.h"

#include <gtest/gtest.h>

#include "model/parameter_table.h"

namespace headroom {
namespace {

struct Published {
  const char* size;
  int64_t context;
  double matmul;  // TFLOP of one training step at batch 4, two decimals
  double attention;
};

TEST(Flops, ATrainingStepIsWhatTheRooflineTableSays) {
  for (const auto& [size, context, matmul, attention] : {
           Published{"small", 128, 0.37, 0.00},
           Published{"medium", 128, 1.27, 0.01},
           Published{"large", 256, 5.88, 0.07},
           Published{"xl", 512, 24.36, 0.48},
           Published{"2.7B", 128, 10.39, 0.03},
           Published{"2.7B", 512, 41.55, 0.52},
           Published{"2.7B", 1024, 83.09, 2.06},
       }) {
    const StepFlops flops = step_flops(*find_config(size), 4, context, Mode::kTraining);
    EXPECT_NEAR(flops.matmul / 1e12, matmul, 0.0051) << size << " " << context;
    EXPECT_NEAR(flops.attention / 1e12, attention, 0.0051) << size << " " << context;
  }
}

TEST(Flops, ForwardIsAThirdAndTheOptimizerIsFree) {
  const ModelConfig& config = *find_config("small");
  const double training = step_flops(config, 4, 256, Mode::kTraining).total();
  EXPECT_DOUBLE_EQ(step_flops(config, 4, 256, Mode::kForwardBackward).total(), training);
  EXPECT_DOUBLE_EQ(step_flops(config, 4, 256, Mode::kForward).total() * 3, training);
  EXPECT_DOUBLE_EQ(step_flops(config, 4, 256, Mode::kForwardGrad).total() * 3, training);
}

// Each token of the batch is multiplied by every weight but the token table and the norms.
TEST(Flops, GroupedQueryHeadsShrinkTheKeyAndValueProjections) {
  const ModelConfig& config = *find_config("70b");
  const int64_t embedding = config.vocab_size * config.d_model;
  const int64_t norms = (2 * config.layers + 1) * config.d_model;
  const auto weights = static_cast<double>(parameter_count(config) - embedding - norms);
  EXPECT_DOUBLE_EQ(step_flops(config, 1, 128, Mode::kTraining).matmul, 6 * weights * 128);
}

TEST(Flops, APeakIsKnownOnlyForTheExactCard) {
  EXPECT_DOUBLE_EQ(*peak_flops("NVIDIA H200", Precision::kBf16), 989.4e12);
  EXPECT_DOUBLE_EQ(*peak_flops("NVIDIA H200", Precision::kTf32), 494.7e12);
  EXPECT_LT(*peak_flops("NVIDIA H200", Precision::kFp32), 70e12);
  EXPECT_NEAR(*peak_flops("NVIDIA H200", Precision::kFp8), 2 * 989.4e12, 1e12);
  EXPECT_FALSE(peak_flops("NVIDIA A100 80GB PCIe", Precision::kFp8));
  EXPECT_DOUBLE_EQ(*peak_flops("NVIDIA A100 80GB PCIe", Precision::kFp16), 312e12);
  EXPECT_FALSE(peak_flops("Tesla T4", Precision::kBf16));
  EXPECT_DOUBLE_EQ(*peak_flops("Tesla T4", Precision::kFp16), 65e12);
  EXPECT_FALSE(peak_flops("NVIDIA GeForce RTX 4090 Laptop GPU", Precision::kBf16));
  EXPECT_FALSE(peak_flops("AMD EPYC 7B13", Precision::kFp32));
}

}  // namespace
}  // namespace headroom
