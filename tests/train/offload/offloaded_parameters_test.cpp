#include "train/offload/blocks/offloaded_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/at_night.h"
#include "tests/train/techniques/small_step.h"
#include "train/hooks/listening.h"
#include "train/offload/disk/staged_blocks.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr const char* kCheckpoints[] = {"none", "selective", "full", "every:2", "blocks:50%"};

RunSpec of_five_blocks(Mode mode, const char* checkpoint = "none") {
  RunSpec spec = tiny_spec();
  spec.layers = 5;
  spec.profile_type = mode;
  spec.checkpoint = parse_checkpoint("--recompute", checkpoint);
  return spec;
}

// A disk gets its own directory (tests/train/support/own_directory.h).
constexpr const char* kPlaces[] = {"cpu", "nvme:."};

RunSpec offloaded_to(const char* place, RunSpec spec) {
  spec.param_offload = parse_offload("--param-offload", place);
  if (spec.profile_type == Mode::kTraining) spec.optimizer_offload = {.space = MemorySpace::kHost};
  return spec;
}

bool is_there(const Tensor& parameter) { return parameter.storage().data() != nullptr; }

TEST(OffloadedParameters, AForwardIsThatWithoutIt) {
  const RunSpec spec = of_five_blocks(Mode::kForward);
  const SmallStep usual(spec);
  const Batch batch = usual.data.batch(0);
  const auto logits = [&](const SmallStep& small) {
    const torch::NoGradGuard no_grad;
    return small.step->model()->forward(batch.tokens_BS, small.step->run_block);
  };
  for (const char* place : kPlaces) {
    const SmallStep offloaded(offloaded_to(place, spec));
    EXPECT_TRUE(logits(offloaded).equal(logits(usual))) << place;
  }
}

TEST(OffloadedParameters, LossAndGradientsAreThoseWithoutItToTheBit) {
  std::vector<RunSpec> specs;
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    for (const char* checkpoint : kCheckpoints) {
      specs.push_back(of_five_blocks(Mode::kForwardBackward, checkpoint));
      specs.back().precision = precision;
    }
  }
  for (const RunSpec& spec : share_by_day(specs, 2)) {
    SmallStep usual(spec);
    const std::vector<double> losses = usual.run_steps(2);
    for (const char* place : kPlaces) {
      SmallStep offloaded(offloaded_to(place, spec));
      EXPECT_EQ(offloaded.run_steps(2), losses) << to_json(spec).dump() << place;
      EXPECT_TRUE(bit_equal(offloaded.gradients(), usual.gradients())) << place;
    }
  }
}

TEST(OffloadedParameters, Bf16WeightsAndFp8ProductsAreThoseWithoutItToo) {
  for (const char* checkpoint : {"none", "full"}) {
    for (const bool fp8 : {false, true}) {
      RunSpec spec = of_five_blocks(Mode::kForwardBackward, checkpoint);
      if (fp8) {
        spec.precision = Precision::kFp8;
      } else {
        spec.weights = WeightType::kBf16;
      }
      SmallStep usual(spec);
      const double loss = usual.run();
      for (const char* place : kPlaces) {
        SmallStep offloaded(offloaded_to(place, spec));
        EXPECT_EQ(offloaded.run(), loss) << checkpoint << place;
        EXPECT_TRUE(bit_equal(offloaded.gradients(), usual.gradients())) << checkpoint << place;
      }
    }
  }
}

TEST(OffloadedParameters, TrainAsTheHostTrainsThoseOnTheCard) {
  const int64_t steps = many_steps(20);
  for (const WeightType weights : {WeightType::kFp32, WeightType::kBf16}) {
    RunSpec spec = of_five_blocks(Mode::kTraining);
    spec.weights = weights;
    if (weights == WeightType::kBf16) spec.master_weights = MasterCopy::kFp32;
    spec.optimizer_offload = {.space = MemorySpace::kHost};
    SmallStep usual(spec);
    const std::vector<double> losses = usual.run_steps(steps);
    for (const char* place : kPlaces) {
      SmallStep offloaded(offloaded_to(place, spec));
      EXPECT_EQ(offloaded.run_steps(steps), losses) << place;
      const NamedTensors masters = offloaded.step->weights();
      for (const auto& item : usual.step->weights()) {
        EXPECT_TRUE(masters[item.key()].equal(item.value())) << item.key() << place;
      }
    }
  }
}

// The highest number of blocks with weights on the device when one is fetched.
struct Resident final : MemoryTags {
  explicit Resident(Step& step) {
    for (const auto& item : step.model()->named_parameters()) {
      if (item.key().ends_with("attn.q_proj.weight")) first_of_block.push_back(item.value());
    }
  }
  void tag(Category category, MemorySpace, uint64_t, const std::string&) override {
    if (category != Category::kParameters) return;
    most = std::max(most, std::count_if(first_of_block.begin(), first_of_block.end(), is_there));
  }
  std::vector<Tensor> first_of_block;
  int64_t most = 0;
};

TEST(OffloadedParameters, OfFewBlocksAreOnTheDeviceAndOfNoneAfterTheStep) {
  for (const char* checkpoint : kCheckpoints) {
    const SmallStep small(offloaded_to("cpu", of_five_blocks(Mode::kTraining, checkpoint)));
    Resident resident(*small.step);
    const Listening listening(*small.step, nullptr, &resident);
    small.step->run(small.data.batch(0));
    // A recomputed group adds its last block, whose backward has begun, to the two.
    const bool of_groups = std::string_view(checkpoint) == "every:2";
    EXPECT_LE(resident.most, of_groups ? 3 : 2) << checkpoint;
    EXPECT_GE(resident.most, 2) << checkpoint;
    EXPECT_THAT(resident.first_of_block, testing::Each(testing::Not(testing::Truly(is_there))));
  }
}

TEST(OffloadedParameters, CrossTheLinkOncePerUse) {
  const SmallStep small(offloaded_to("cpu", of_five_blocks(Mode::kForwardBackward)));
  int64_t block_bytes = 0;
  for (const auto& item : small.step->model()->named_parameters()) {
    if (item.key().starts_with("layers.0.")) {
      block_bytes += static_cast<int64_t>(item.value().nbytes());
    }
  }
  const HostTraffic before = small.step->copies->traffic();
  EXPECT_EQ(before.to_host, 5 * block_bytes);
  small.step->run(small.data.batch(0));
  const HostTraffic of_step = small.step->copies->traffic() - before;
  EXPECT_EQ(of_step.to_host, 0);
  EXPECT_EQ(of_step.to_card, 9 * block_bytes);  // the last block's stay for backward
}

TEST(OffloadedParameters, GoWithActivationsOnTheHostAndMicroBatches) {
  for (const char* activations : {"offload:min=0", "offload-int8:min=0", "int8:min=0"}) {
    RunSpec spec = of_five_blocks(Mode::kForwardBackward);
    spec.activations = parse_activations(activations);
    spec.micro_batches = 2;
    SmallStep usual(spec);
    const std::vector<double> losses = usual.run_steps(2);
    for (const char* place : kPlaces) {
      SmallStep offloaded(offloaded_to(place, spec));
      EXPECT_EQ(offloaded.run_steps(2), losses) << activations << place;
      EXPECT_TRUE(bit_equal(offloaded.gradients(), usual.gradients())) << activations << place;
    }
  }
}

TEST(OffloadedParameters, AStepAfterOneThatFailedIsAsIfItHadNotBeen) {
  const RunSpec spec = of_five_blocks(Mode::kTraining, "every:2");
  for (const char* place : kPlaces) {
    SmallStep usual(offloaded_to(place, spec));
    SmallStep failing(offloaded_to(place, spec));
    bool full = true;
    failing.step->model()->named_parameters()["layers.2.ln1.weight"].register_hook(
        [&](const Tensor&) { TORCH_CHECK_WITH(OutOfMemoryError, !full, "no memory left"); });
    EXPECT_THROW(failing.run(0), c10::OutOfMemoryError);
    full = false;
    EXPECT_EQ(failing.run_steps(3), usual.run_steps(3)) << place;
  }
}

// One block ahead: 9 reads of 5 blocks, as over the link; each new weight is written once.
TEST(OffloadedParameters, AreReadFromTheDiskOncePerUseAndWrittenOncePerUpdate) {
  for (const Mode mode : {Mode::kForwardBackward, Mode::kTraining}) {
    const SmallStep small(offloaded_to("nvme:.", of_five_blocks(mode)));
    int64_t block_bytes = 0;
    for (const auto& item : small.step->model()->named_parameters()) {
      if (item.key().starts_with("layers.0.")) {
        block_bytes += on_pages(static_cast<int64_t>(item.value().nbytes()));
      }
    }
    const OffloadedParameters& parameters = *small.step->layout.offloaded;
    const DiskFigures before = parameters.disk();
    EXPECT_EQ(before.files, 5 * block_bytes);
    small.step->run(small.data.batch(0));
    EXPECT_EQ(parameters.disk().read - before.read, 9 * block_bytes);
    EXPECT_EQ(parameters.disk().written - before.written,
              mode == Mode::kTraining ? 5 * block_bytes : 0);
  }
}

}  // namespace
}  // namespace headroom
