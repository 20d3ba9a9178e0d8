#include "train/offload/states/offloaded_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/at_night.h"
#include "tests/train/support/heard.h"
#include "tests/train/techniques/small_step.h"
#include "train/hooks/listening.h"
#include "train/offload/states/memory_states.h"

namespace headroom {
namespace {

using torch::Tensor;

RunSpec offloading(RunSpec spec = tiny_spec()) {
  spec.optimizer_offload = {.space = MemorySpace::kHost};
  return spec;
}

RunSpec of_bf16_weights() {
  RunSpec spec = tiny_spec();
  spec.weights = WeightType::kBf16;
  spec.master_weights = MasterCopy::kFp32;
  return spec;
}

void expect_near(const std::vector<double>& losses, const std::vector<double>& expected,
                 double within = 1e-6) {
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], within * expected[i]) << "step " << i;
  }
}

TEST(OffloadedOptimizer, TwentyLossesAndTheWeightsAreThoseWithoutIt) {
  SmallStep usual(tiny_spec());
  SmallStep offloaded(offloading());
  expect_near(offloaded.run_steps(20), usual.run_steps(20));
  EXPECT_LE(distance(offloaded.parameters(), usual.parameters()), 1e-6);
}

// A master that differs in its last bit may round to the neighbouring BF16 number, and the loss is
// a BF16 number: 2^-7 apart, two steps allowed.
TEST(OffloadedOptimizer, MastersOfBf16WeightsAreThoseOfTheDevice) {
  const int64_t steps = many_steps(20);
  SmallStep usual(of_bf16_weights());
  SmallStep offloaded(offloading(of_bf16_weights()));
  const std::vector<double> expected = usual.run_steps(steps);
  const std::vector<double> losses = offloaded.run_steps(steps);
  EXPECT_DOUBLE_EQ(losses.front(), expected.front());
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], expected[i] / 64);
  const NamedTensors masters = offloaded.step->weights();
  const NamedTensors those_of_the_device = usual.step->weights();
  for (const auto& item : masters) {
    EXPECT_EQ(item.value().scalar_type(), torch::kFloat32);
    const Tensor& expected_master = those_of_the_device[item.key()];
    const Tensor off = (item.value() - expected_master).norm() / expected_master.norm();
    EXPECT_LE(off.item<double>(), 1e-3) << item.key();
  }
}

TEST(OffloadedOptimizer, EachWeightIsItsMasterRounded) {
  SmallStep small(offloading(of_bf16_weights()));
  small.run_steps(3);
  const NamedTensors masters = small.step->weights();
  for (const auto& item : small.step->model()->named_parameters()) {
    EXPECT_TRUE(item.value().equal(masters[item.key()].to(torch::kBFloat16))) << item.key();
  }
}

// Counts the existing gradients whenever one is tagged.
struct Counting final : MemoryTags {
  explicit Counting(Step& step) : parameters(step.model()->parameters()) {}
  void tag(Category category, MemorySpace, uint64_t, const std::string&) override {
    if (category != Category::kGradients) return;
    const auto defined = std::count_if(parameters.begin(), parameters.end(),
                                       [](const Tensor& p) { return p.grad().defined(); });
    counts.push_back(defined);
  }
  std::vector<Tensor> parameters;
  std::vector<int64_t> counts;
};

TEST(OffloadedOptimizer, TwoGradientsExistAtATimeAndNoneAfterTheStep) {
  const SmallStep small(offloading());
  Counting counting(*small.step);
  const Listening listening(*small.step, nullptr, &counting);
  small.step->run(small.data.batch(0));
  ASSERT_EQ(counting.counts.size(), counting.parameters.size());
  EXPECT_EQ(counting.counts.front(), 1);
  counting.counts.erase(counting.counts.begin());
  EXPECT_THAT(counting.counts, testing::Each(2));
  for (const Tensor& gradient : small.gradients()) EXPECT_FALSE(gradient.defined());
}

TEST(OffloadedOptimizer, TheUpdateIsOnePhaseBehindTheBackward) {
  RunSpec spec = offloading();
  spec.layers = 1;
  const SmallStep small(spec);
  Heard heard;
  const Listening listening(*small.step, &heard);
  small.step->run(small.data.batch(0));
  EXPECT_THAT(heard.texts,
              testing::ElementsAre("+forward", "+block 0", "-block 0", "-forward", "+loss", "-loss",
                                   "+backward", "-backward", "+optimizer", "-optimizer"));
}

TEST(OffloadedOptimizer, TagsMastersStateAndGradientsByTheNamesOfTheModel) {
  const SmallStep small(offloading());
  Heard heard;
  {
    const Listening listening(*small.step, nullptr, &heard);
    small.step->run(small.data.batch(0));
  }
  const std::vector<std::string> names = small.step->model()->named_parameters().keys();
  EXPECT_THAT(heard.names[Category::kGradients], testing::UnorderedElementsAreArray(names));
  EXPECT_THAT(heard.names[Category::kMasterWeights], testing::ElementsAreArray(names));
  std::vector<std::string> twice = names;  // m and v
  twice.insert(twice.end(), names.begin(), names.end());
  EXPECT_THAT(heard.names[Category::kOptimizerState], testing::ElementsAreArray(twice));
  EXPECT_THAT(heard.names[Category::kOther], testing::Contains("gradients on the host"));
}

TEST(OffloadedOptimizer, EveryGradientGoesAndEveryWeightComesBackOnce) {
  for (const RunSpec& spec : {tiny_spec(), of_bf16_weights()}) {
    SmallStep small(offloading(spec));
    int64_t bytes = 0;
    for (const Tensor& parameter : small.parameters()) {
      bytes += static_cast<int64_t>(parameter.nbytes());
    }
    small.run_steps(2);
    EXPECT_EQ(small.step->copies->traffic().to_host, 2 * bytes);
    EXPECT_EQ(small.step->copies->traffic().to_card, 2 * bytes);
  }
}

RunSpec in_parts(RunSpec spec = tiny_spec()) {
  spec.batch_size = 6;
  spec.micro_batches = 3;
  return spec;
}

// The first m is (1 - b1) g: it shows g.
TEST(OffloadedOptimizer, GradientsOfMicroBatchesAddUpToThoseOfTheDeviceToTheBit) {
  for (const RunSpec& spec : {in_parts(), in_parts(of_bf16_weights())}) {
    RunSpec without_update = spec;
    without_update.profile_type = Mode::kForwardBackward;
    without_update.master_weights = MasterCopy::kNone;
    SmallStep usual(without_update);
    SmallStep offloaded(offloading(spec));
    EXPECT_EQ(offloaded.run(), usual.run());
    const std::vector<Tensor> moments = offloaded.step->update->state();
    const std::vector<Tensor> gradients = usual.gradients();
    for (size_t i = 0; i < gradients.size(); ++i) {
      const Tensor expected = gradients[i].to(torch::kFloat32) * (1 - 0.9);
      EXPECT_TRUE(moments[i].equal(expected)) << i;
    }
  }
}

TEST(OffloadedOptimizer, StepsOfMicroBatchesAreThoseWithoutIt) {
  const int64_t steps = many_steps(20);
  SmallStep usual(in_parts());
  SmallStep offloaded(offloading(in_parts()));
  expect_near(offloaded.run_steps(steps), usual.run_steps(steps));
  EXPECT_LE(distance(offloaded.parameters(), usual.parameters()), 1e-6);
}

TEST(OffloadedOptimizer, EachMicroBatchSendsItsGradientsAndHasTwoAtATime) {
  const SmallStep small(offloading(in_parts()));
  Counting counting(*small.step);
  const Listening listening(*small.step, nullptr, &counting);
  small.step->run(small.data.batch(0));
  const size_t count = counting.parameters.size();
  ASSERT_EQ(counting.counts.size(), 3 * count);
  for (size_t i = 0; i < 3 * count; ++i) {
    EXPECT_EQ(counting.counts[i], i % count == 0 ? 1 : 2) << i;
  }
  int64_t bytes = 0;
  for (const Tensor& parameter : counting.parameters) {
    bytes += static_cast<int64_t>(parameter.nbytes());
  }
  EXPECT_EQ(small.step->copies->traffic().to_host, 3 * bytes);
  EXPECT_EQ(small.step->copies->traffic().to_card, bytes);
}

RunSpec clipped(RunSpec spec, double max_norm) {
  spec.max_grad_norm = max_norm;
  return spec;
}

TEST(OffloadedOptimizer, ClipsAsTheDeviceDoes) {
  const int64_t steps = many_steps(20);
  const std::vector<RunSpec> specs = {clipped(tiny_spec(), 0.05), clipped(tiny_spec(), 0.5),
                                      clipped(in_parts(), 0.05), clipped(in_parts(), 0.5)};
  for (const RunSpec& spec : share_by_day(specs, 3)) {
    SmallStep usual(spec);
    SmallStep offloaded(offloading(spec));
    expect_near(offloaded.run_steps(steps), usual.run_steps(steps));
    EXPECT_LE(distance(offloaded.parameters(), usual.parameters()), 1e-6);
    // AdamW follows only the direction: the length shows in m.
    const std::vector<Tensor> moments = usual.step->update->state();
    const std::vector<Tensor> on_host = offloaded.step->update->state();
    EXPECT_LE((moments[0] - on_host[0]).norm().item<double>(),
              1e-5 * moments[0].norm().item<double>());
  }
}

TEST(OffloadedOptimizer, ANormThatIsNotReachedClipsNothing) {
  SmallStep without(offloading());
  SmallStep clipping(offloading(clipped(tiny_spec(), 1e9)));
  EXPECT_EQ(clipping.run_steps(3), without.run_steps(3));
  EXPECT_TRUE(bit_equal(clipping.parameters(), without.parameters()));
}

TEST(OffloadedOptimizer, ClippingIsAPhaseInsideTheUpdate) {
  RunSpec spec = offloading(clipped(tiny_spec(), 1));
  spec.layers = 1;
  const SmallStep small(spec);
  Heard heard;
  const Listening listening(*small.step, &heard);
  small.step->run(small.data.batch(0));
  const std::vector<std::string> end(heard.texts.end() - 4, heard.texts.end());
  EXPECT_THAT(end, testing::ElementsAre("+optimizer", "+clipping", "-clipping", "-optimizer"));
}

RunSpec of_fp16() {
  RunSpec spec = tiny_spec();
  spec.precision = Precision::kFp16;
  return spec;
}

// A weight that differs in its last bit may be cast to the neighbouring FP16 number, and the loss
// is an FP16 number on the CPU: 2^-10 apart, two steps allowed.
constexpr double kOfFp16 = 1.0 / 512;

void scale_by(double scale, SmallStep& small) {
  const LossScalerOptions options{.initial_scale = scale};
  small.step->update->loss_scaler = std::make_unique<LossScaler>(torch::kCPU, options);
}

TEST(OffloadedOptimizer, Fp16GradientsComeWithoutTheScaleOfTheLoss) {
  for (const double max_norm : {0.0, 0.05}) {
    SmallStep usual(clipped(of_fp16(), max_norm));
    SmallStep offloaded(offloading(clipped(of_fp16(), max_norm)));
    for (SmallStep* small : {&usual, &offloaded}) scale_by(1024, *small);
    EXPECT_EQ(offloaded.run(0), usual.run(0));
    ASSERT_EQ(usual.step->update->skipped_steps(), 0);
    // The casts are still the same: m and v show the gradients and their factor.
    EXPECT_LE(distance(offloaded.step->update->state(), usual.step->update->state()), 1e-6);
    EXPECT_LE(distance(offloaded.parameters(), usual.parameters()), 1e-6);
    expect_near(offloaded.run_steps(3), usual.run_steps(3), kOfFp16);
    EXPECT_EQ(offloaded.step->update->loss_scaler->current_scale(), 1024);
    EXPECT_EQ(offloaded.step->update->skipped_steps(), 0);
  }
}

// The scale makes backward's FP16 gradients infinite, until it is halved often enough.
TEST(OffloadedOptimizer, AStepOfInfiniteGradientsUpdatesNothingAndHalvesTheScaleAsOnTheDevice) {
  for (const RunSpec& spec : {of_fp16(), in_parts(clipped(of_fp16(), 0.5))}) {
    SmallStep usual(spec);
    SmallStep offloaded(offloading(spec));
    for (SmallStep* small : {&usual, &offloaded}) scale_by(0x1p20, *small);
    const std::vector<Tensor> before = offloaded.parameters();
    EXPECT_EQ(offloaded.run(0), usual.run(0));
    EXPECT_TRUE(bit_equal(offloaded.parameters(), before));
    EXPECT_EQ(offloaded.step->update->skipped_steps(), 1);
    EXPECT_EQ(offloaded.step->update->loss_scaler->current_scale(), 0x1p19);
    expect_near(offloaded.run_steps(8), usual.run_steps(8), kOfFp16);
    EXPECT_LT(offloaded.step->update->skipped_steps(), 9) << "some steps did update";
    EXPECT_EQ(offloaded.step->update->skipped_steps(), usual.step->update->skipped_steps());
    EXPECT_EQ(offloaded.step->update->loss_scaler->current_scale(),
              usual.step->update->loss_scaler->current_scale());
  }
}

// Other copies to the host use the same stream.
// A result of a weight that differs in its last bit may round to the next INT8 code.
TEST(OffloadedOptimizer, GoesWithEveryFormOfWhatAutogradSaves) {
  std::vector<RunSpec> specs;
  for (const char* activations : {"int8:min=0", "offload:min=0", "offload-int8:min=0"}) {
    for (const char* checkpoint : {"none", "full", "selective"}) {
      RunSpec spec = tiny_spec();
      spec.layers = 5;
      spec.activations = parse_activations(activations);
      spec.checkpoint = parse_checkpoint("--recompute", checkpoint);
      specs.push_back(spec);
    }
  }
  for (const RunSpec& spec : share_by_day(specs, 4)) {
    SCOPED_TRACE(to_json(spec).dump());
    const std::vector<double> expected = SmallStep(spec).run_steps(5);
    const std::vector<double> losses = SmallStep(offloading(spec)).run_steps(5);
    expect_near(losses, expected, spec.activations.encoded() ? 1e-5 : 1e-6);
  }
}

TEST(OffloadedOptimizer, AStepThatFailsInBackwardHasChangedNothing) {
  expect_a_failed_backward_changes_nothing(offloading());
}

TEST(OffloadedOptimizer, AStepThatFailsInALaterMicroBatchHasChangedNothing) {
  expect_a_failed_backward_changes_nothing(offloading(in_parts()), 2);
}

TEST(OffloadedOptimizer, HostMemoryThatIsNotToBeHadIsOutOfMemoryInTheStep) {
  SmallStep small(tiny_spec());
  small.step->copies = make_copy_queue(torch::kCPU);
  const NamedTensors parameters = small.step->model()->named_parameters();
  small.step->update = std::make_shared<OffloadedOptimizer>(
      parameters, small.step->copies, HostAdamwOptions{},
      std::make_shared<MemoryStates>(parameters.values()), /*offloaded_parameters=*/nullptr,
      /*masters=*/NamedTensors(), /*host_limit_bytes=*/1 << 20);
  const std::vector<Tensor> before = small.parameters();
  EXPECT_THROW(small.run(0), c10::OutOfMemoryError);
  EXPECT_TRUE(bit_equal(small.parameters(), before));
}

TEST(OffloadedOptimizer, AParameterThatBackwardDoesNotReachIsAnError) {
  const SmallStep small(offloading());
  small.step->model()->named_parameters()["ln_final.weight"].set_requires_grad(false);
  EXPECT_THROW(small.step->run(small.data.batch(0)), c10::Error);
}

}  // namespace
}  // namespace headroom
