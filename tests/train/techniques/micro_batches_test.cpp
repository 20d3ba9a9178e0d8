#include "train/techniques/micro_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/at_night.h"
#include "tests/train/support/heard.h"
#include "tests/train/techniques/small_step.h"
#include "train/hooks/listening.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using torch::Tensor;

RunSpec in_parts(int64_t parts, Mode mode = Mode::kForwardBackward) {
  RunSpec spec = tiny_spec();
  spec.layers = 2;
  spec.batch_size = 6;
  spec.profile_type = mode;
  spec.micro_batches = parts;
  return spec;
}

TEST(MicroBatches, LossAndGradientsAreThoseOfTheWholeBatch) {
  for (const Attention attention : {Attention::kEager, Attention::kFlash}) {
    RunSpec spec = in_parts(1);
    spec.attention = attention;
    SmallStep whole(spec);
    const double loss = whole.run();
    for (const int64_t parts : {2, 3, 6}) {
      spec.micro_batches = parts;
      SmallStep step(spec);
      EXPECT_NEAR(step.run(), loss, 1e-6 * loss) << parts;
      EXPECT_LE(distance(step.gradients(), whole.gradients()), 1e-6) << parts;
    }
  }
}

// A step whose FP16 gradients are finite. Autocast on the CPU, unlike on CUDA, leaves exp, sum and
// mean in FP16. So the loss is FP16, and its gradient is the scale: 65536, the initial scale, is
// beyond FP16.
struct FiniteStep : SmallStep {
  explicit FiniteStep(const RunSpec& asked) : SmallStep(asked) {
    if (step->update->loss_scaler)
      step->update->loss_scaler->resume(/*scale=*/1024, /*finite_steps=*/0);
  }
};

// A part's products are rounded like the batch's; their sums are in another order.
TEST(MicroBatches, UnderAutocastTheyAreWithinItsRounding) {
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    RunSpec spec = in_parts(1);
    spec.precision = precision;
    FiniteStep whole(spec);
    const double loss = whole.run();
    spec.micro_batches = 3;
    FiniteStep step(spec);
    const double tolerance = precision == Precision::kBf16 ? 1e-2 : 1e-3;
    EXPECT_NEAR(step.run(), loss, tolerance * loss) << to_string(precision);
    EXPECT_LE(distance(step.gradients(), whole.gradients()), tolerance) << to_string(precision);
  }
}

TEST(MicroBatches, GradientsOfOneStepAreGoneInTheNext) {
  SmallStep step(in_parts(3));
  step.run();
  const std::vector<Tensor> once = step.gradients();
  step.run();
  EXPECT_TRUE(bit_equal(step.gradients(), once)) << "added up over steps";
}

TEST(MicroBatches, StepsOfTrainingAreThoseOfTheWholeBatchAndDeterministic) {
  const int64_t steps = many_steps(20);
  for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kFp16}) {
    RunSpec spec = in_parts(1, Mode::kTraining);
    spec.precision = precision;
    const std::vector<double> whole = SmallStep(spec).run_steps(steps);
    spec.micro_batches = 2;
    const std::vector<double> parts = SmallStep(spec).run_steps(steps);
    EXPECT_EQ(SmallStep(spec).run_steps(steps), parts) << to_string(precision);
    const double tolerance = precision == Precision::kFp32 ? 1e-4 : 2e-2;
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_NEAR(parts[i], whole[i], tolerance * whole[i]) << to_string(precision) << ' ' << i;
    }
  }
}

TEST(MicroBatches, EachHasItsOwnPassesAndTheUpdateComesOnce) {
  RunSpec spec = in_parts(2, Mode::kTraining);
  spec.layers = 1;
  spec.precision = Precision::kFp16;
  const SmallStep small(spec);
  Heard heard;
  const Listening listening(*small.step, &heard);
  small.step->run(small.data.batch(0));
  const std::vector<std::string> pass = {"+forward", "+block 0", "-block 0",  "-forward",
                                         "+loss",    "-loss",    "+backward", "-backward"};
  std::vector<std::string> expected = pass;
  expected.insert(expected.end(), pass.begin(), pass.end());
  expected.insert(expected.end(), {"+optimizer", "-optimizer"});
  EXPECT_THAT(heard.texts, testing::ElementsAreArray(expected));
  // The gradients are checked once, finite or not.
  const int finite_steps = small.step->update->loss_scaler->state()[1].item<int>();
  EXPECT_EQ(finite_steps + small.step->update->skipped_steps(), 1);
}

TEST(MicroBatches, WhatOnePartSavedIsGoneBeforeTheNextBegins) {
  const SmallStep small(in_parts(3));
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> outputs;
  small.step->run_block = [&](int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    if (index == 0) {
      for (const auto& output : outputs) EXPECT_TRUE(output.expired());
    }
    Tensor y_BSD = block(x_BSD);
    outputs.push_back(y_BSD.storage().getWeakStorageImpl());
    return y_BSD;
  };
  small.step->run(small.data.batch(0));
  EXPECT_EQ(outputs.size(), 3U * 2U);
}

TEST(MicroBatches, AFailureInTheMiddleLeavesNothingInTheNextStep) {
  SmallStep step(in_parts(2));
  step.run();
  const std::vector<Tensor> expected = step.gradients();
  const BlockRunner usual = step.step->run_block;
  int blocks = 0;
  step.step->run_block = [&](int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    TORCH_CHECK(++blocks < 4, "no room");  // in the second forward
    return usual(index, block, x_BSD);
  };
  EXPECT_THROW(step.run(), c10::Error);
  step.step->run_block = usual;
  step.run();
  EXPECT_TRUE(bit_equal(step.gradients(), expected));
}

TEST(MicroBatches, PartsAreViewsOfTheBatch) {
  const SmallStep small(in_parts(3));
  const Batch batch = small.data.batch(0);
  const MicroBatch part = split(batch, 3, nullptr).at(1);
  EXPECT_THAT(part.tokens_BS.sizes(), ElementsAre(2, 16));
  EXPECT_TRUE(part.targets_BS.equal(batch.targets_BS.narrow(0, 2, 2)));
  EXPECT_TRUE(part.tokens_BS.is_alias_of(batch.tokens_BS));
}

}  // namespace
}  // namespace headroom
