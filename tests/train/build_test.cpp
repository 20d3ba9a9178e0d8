// From a RunSpec to a step and its batches.
#include "train/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/parameter_table.h"
#include "tests/files/scratch_directory.h"
#include "tests/train/support/tiny_spec.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using torch::Tensor;

std::vector<int64_t> ids(const Tensor& tensor) {
  const Tensor flat = tensor.flatten().contiguous();
  return {flat.data_ptr<int64_t>(), flat.data_ptr<int64_t>() + flat.numel()};
}

std::unique_ptr<Step> built_step(const RunSpec& spec) {
  std::vector<std::string> notes;
  return build_step(spec, torch::kCPU, &notes);
}

std::vector<double> losses_of(const RunSpec& spec, int steps) {
  const auto step = built_step(spec);
  const Data data(spec, model_config(spec).vocab_size, torch::kCPU, steps);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) losses.push_back(step->run(data.batch(i)).item<double>());
  return losses;
}

TEST(Data, RandomTokensDependOnSeedAndStepAlone) {
  RunSpec spec = tiny_spec();
  const auto tokens = [&](int64_t step) {
    return ids(Data(spec, 50, torch::kCPU, 10).batch(step).tokens_BS);
  };
  const auto first = tokens(3);
  torch::manual_seed(77);
  EXPECT_EQ(tokens(3), first) << "the global generator has no part in it";
  EXPECT_NE(tokens(4), first);
  spec.seed = 2;
  EXPECT_NE(tokens(3), first);
  EXPECT_THAT(first, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(50))));
}

TEST(Data, TargetsAreTheTokensShiftedByOne) {
  const RunSpec spec = tiny_spec();
  const Batch batch = Data(spec, 50, torch::kCPU, 1).batch(0);
  EXPECT_THAT(batch.tokens_BS.sizes(), ElementsAre(2, 16));
  EXPECT_THAT(batch.targets_BS.sizes(), ElementsAre(2, 16));
  const auto tokens = ids(batch.tokens_BS);
  const auto targets = ids(batch.targets_BS);
  EXPECT_TRUE(std::equal(tokens.begin() + 1, tokens.end(), targets.begin()));
}

// Step k reads B * S + 1 ids from k * B * S on, wrapping around the end of the file.
TEST(Data, StepsReadOneWindowOfTheFileAfterTheOther) {
  const ScratchDirectory scratch;
  std::string bytes;
  for (char id = 0; id < 11; ++id) bytes += {id, 0};
  RunSpec spec = tiny_spec();
  spec.tokens = scratch.write("ids", bytes);
  spec.batch_size = 2;
  spec.context_length = 3;
  const Data data(spec, 11, torch::kCPU, 10);
  EXPECT_THAT(ids(data.batch(0).tokens_BS), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(ids(data.batch(0).targets_BS), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(ids(data.batch(1).tokens_BS), ElementsAre(6, 7, 8, 9, 10, 0));
  EXPECT_THAT(ids(data.batch(1).targets_BS), ElementsAre(7, 8, 9, 10, 0, 1));
  EXPECT_THAT(ids(data.batch(11).tokens_BS), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THROW(Data(spec, 10, torch::kCPU, 10), UsageError) << "id 10 is beyond the vocabulary";
  EXPECT_NO_THROW(Data(spec, 10, torch::kCPU, 1)) << "which one step does not read";
}

TEST(Build, TheSameSeedGivesTheSameLosses) {
  RunSpec spec = tiny_spec();
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    spec.precision = precision;
    spec.seed = 1;
    const auto losses = losses_of(spec, 3);
    EXPECT_EQ(losses_of(spec, 3), losses);
    spec.seed = 2;
    EXPECT_NE(losses_of(spec, 3), losses);
  }
}

TEST(Build, FreeDimensionsGiveExactlyTheParametersCounted) {
  RunSpec spec = tiny_spec();
  for (const int64_t kv_heads : {1, 2, 4}) {
    spec.kv_heads = kv_heads;
    spec.d_ff = 40 + kv_heads;
    const auto step = built_step(spec);
    int64_t count = 0;
    for (const Tensor& parameter : step->model()->parameters()) {
      count += parameter.numel();
      EXPECT_EQ(parameter.device(), step->device());
      EXPECT_EQ(parameter.scalar_type(), at::kFloat);
      EXPECT_TRUE(parameter.is_leaf() && parameter.requires_grad());
    }
    EXPECT_EQ(count, parameter_count(model_config(spec)));
  }
}

TEST(Build, WeightsBeginAsTheAssignmentSays) {
  RunSpec spec = tiny_spec();
  spec.d_model = 128;
  spec.d_ff = 384;
  spec.vocab_size = 500;
  const auto parameters = built_step(spec)->model()->named_parameters();
  const Tensor w1 = parameters["layers.0.ffn.w1.weight"];
  const double deviation = std::sqrt(2.0 / (128 + 384));
  EXPECT_NEAR(w1.std().item<double>(), 0.987 * deviation, 0.02 * deviation) << "cut at 3";
  EXPECT_LE(w1.abs().max().item<double>(), 3 * deviation * 1.0001);
  EXPECT_GT(w1.abs().max().item<double>(), 2.8 * deviation);
  EXPECT_NEAR(parameters["token_embeddings.weight"].std().item<double>(), 0.987, 0.02);
  EXPECT_TRUE(parameters["ln_final.weight"].equal(torch::ones({128})));
}

TEST(Step, LeavesGradientsAndALossOnlyWhereThereIsBackward) {
  RunSpec spec = tiny_spec();
  const Batch batch = Data(spec, 50, torch::kCPU, 1).batch(0);
  for (const Mode mode :
       {Mode::kForward, Mode::kForwardGrad, Mode::kForwardBackward, Mode::kTraining}) {
    spec.profile_type = mode;
    const auto step = built_step(spec);
    const Tensor before = step->model()->parameters()[0].detach().clone();
    const Tensor loss = step->run(batch);
    EXPECT_EQ(loss.defined(), has_backward(mode)) << to_string(mode);
    if (loss.defined()) {
      EXPECT_EQ(loss.scalar_type(), at::kFloat);
    }
    for (const Tensor& parameter : step->model()->parameters()) {
      EXPECT_EQ(parameter.grad().defined(), has_backward(mode)) << to_string(mode);
    }
    EXPECT_EQ(step->model()->parameters()[0].equal(before), mode != Mode::kTraining);
  }
}

TEST(Step, GradientsOfOneStepAreGoneInTheNext) {
  RunSpec spec = tiny_spec();
  spec.profile_type = Mode::kForwardBackward;
  const auto step = built_step(spec);
  const Batch batch = Data(spec, 50, torch::kCPU, 1).batch(0);
  step->run(batch);
  const Tensor once = step->model()->parameters()[0].grad().clone();
  step->run(batch);
  EXPECT_TRUE(step->model()->parameters()[0].grad().equal(once)) << "added up over steps";
}

TEST(Step, EveryAttentionComputesTheSameLosses) {
  RunSpec spec = tiny_spec();
  spec.kv_heads = 2;
  const auto eager = losses_of(spec, 3);
  for (const Attention attention : {Attention::kSdpa, Attention::kMath, Attention::kFlash}) {
    spec.attention = attention;
    const auto others = losses_of(spec, 3);
    for (size_t i = 0; i < eager.size(); ++i) {
      EXPECT_NEAR(others[i], eager[i], 1e-5 * eager[i]) << to_string(attention);
    }
  }
}

}  // namespace
}  // namespace headroom
