// Checkpointing alone: functions and small models whose gradients must be bit-identical.
#include "train/techniques/checkpoint/checkpoint.h"

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/at_night.h"
#include "tests/train/support/heard.h"
#include "tests/train/support/tiny_spec.h"
#include "text/words.h"
#include "train/build.h"
#include "train/hooks/listening.h"
#include "train/techniques/activations/saved_tensors.h"
#include "train/techniques/precision.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using torch::Tensor;

using Inputs = std::vector<Tensor>;

struct Leaves {
  Tensor x, weight;
  void clear() {
    x.mutable_grad() = Tensor();
    weight.mutable_grad() = Tensor();
  }
};

Leaves some_leaves() {
  torch::manual_seed(3);
  return {torch::randn({8, 16}).requires_grad_(true), torch::randn({16, 16}).requires_grad_(true)};
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() { install_saved_tensor_hooks(); }

  // The gradients of function(x).sum(): d x, d weight.
  std::pair<Tensor, Tensor> gradients(const TensorFunction& function, bool is_checkpointed) {
    data.clear();
    torch::manual_seed(5);
    const Tensor y = is_checkpointed ? checkpointed(function, {data.x}) : function({data.x});
    y.sum().backward();
    return {data.x.grad(), data.weight.grad()};
  }
  void expect_same(const TensorFunction& function) {
    const auto plain = gradients(function, false);
    const auto again = gradients(function, true);
    EXPECT_TRUE(torch::equal(again.first, plain.first));
    EXPECT_TRUE(torch::equal(again.second, plain.second));
  }

  Leaves data = some_leaves();
  TensorFunction layer = [this](const Inputs& inputs) {
    return torch::sigmoid(torch::linear(inputs.front(), data.weight)).square().exp();
  };
};

TEST_F(CheckpointTest, GradientsAreEqualToTheBit) { expect_same(layer); }

// Tells whether the tensor last given to `keep` is alive.
struct Watched {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage{
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
          torch::zeros({1}).storage().unsafeGetStorageImpl())};
  Tensor operator()(const Tensor& tensor) {
    storage = c10::weak_intrusive_ptr<c10::StorageImpl>(
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
            tensor.storage().unsafeGetStorageImpl()));
    return tensor;
  }
  bool is_alive() const { return !storage.expired(); }
};

TEST_F(CheckpointTest, KeepsNothingButTheInputAndLetsGoOfWhatItComputedAgain) {
  Watched watched;
  const TensorFunction function = [&](const Inputs& inputs) {
    return watched(torch::sigmoid(torch::linear(inputs.front(), data.weight))).square();
  };
  Tensor y = checkpointed(function, {data.x});
  EXPECT_FALSE(watched.is_alive()) << "sigmoid and square both save it";
  // Checked in backward, at the function's first operation.
  bool alive_at_the_end = true;
  data.weight.register_hook([&](const Tensor&) { alive_at_the_end = watched.is_alive(); });
  y.sum().backward();
  EXPECT_FALSE(alive_at_the_end);
}

TEST_F(CheckpointTest, EndsWhenTheLastSavedTensorIsThere) {
  int begun = 0;
  int ended = 0;
  const TensorFunction function = [&](const Inputs& inputs) {
    ++begun;
    const Tensor y = layer(inputs);
    ++ended;
    return y + 1;
  };
  expect_same(function);
  EXPECT_EQ(begun, 1 + 2);
  EXPECT_EQ(ended, 1 + 1) << "not the second time";
}

TEST_F(CheckpointTest, WithoutGradientsItIsTheFunctionAlone) {
  const torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(checkpointed(layer, {data.x}), layer({data.x})));
}

TEST_F(CheckpointTest, ACheckpointInsideAnother) {
  int inner_runs = 0;
  const TensorFunction inner = [&](const Inputs& inputs) {
    ++inner_runs;
    return layer(inputs);
  };
  const TensorFunction outer = [&](const Inputs& inputs) {
    const Tensor between = checkpointed(inner, {layer(inputs)});
    return checkpointed(inner, {between.tanh()});
  };
  const auto plain = gradients([&](const Inputs& x) { return layer({layer({layer(x)}).tanh()}); },
                               /*is_checkpointed=*/false);
  const auto again = gradients(outer, /*is_checkpointed=*/true);
  EXPECT_TRUE(torch::equal(again.first, plain.first));
  EXPECT_TRUE(torch::equal(again.second, plain.second));
  // Both in the forward; the first in the outer's recomputation, which ends when the second's input
  // exists; both in their own.
  EXPECT_EQ(inner_runs, 2 + 1 + 2);
  expect_same([&](const Inputs& inputs) { return checkpointed(outer, inputs); });
}

TEST_F(CheckpointTest, RandomNumbersAreThoseOfTheForwardAndNobodyElsesChange) {
  Tensor masks[2];
  int runs = 0;
  const TensorFunction dropping = [&](const Inputs& inputs) {
    const Tensor mask = torch::rand_like(inputs.front()) < 0.5;
    masks[runs++ % 2] = mask;
    return (torch::linear(inputs.front(), data.weight) * mask + torch::randn({16})).square();
  };
  expect_same(dropping);
  EXPECT_EQ(runs, 1 + 2);
  EXPECT_TRUE(torch::equal(masks[0], masks[1]));
  const auto after = [&](bool is_checkpointed) {
    data.clear();
    torch::manual_seed(7);
    const Tensor y = is_checkpointed ? checkpointed(dropping, {data.x}) : dropping({data.x});
    const Tensor between = torch::randn({3});  // drawn while the forward waits for its backward
    y.sum().backward();
    return torch::cat({between, torch::randn({3})});
  };
  EXPECT_TRUE(torch::equal(after(true), after(false)));
}

TEST_F(CheckpointTest, RunsUnderTheAutocastOfTheForwardAndLeavesNoneBehind) {
  const auto run = [&](bool is_checkpointed) {
    data.clear();
    Tensor y;
    {
      const AutocastGuard autocast(Precision::kBf16, torch::kCPU);
      const TensorFunction plain = [&](const Inputs& inputs) {
        return torch::linear(inputs.front(), data.weight).tanh();
      };
      // One part with autocast off, as in a model's own code.
      const TensorFunction mixed = [&](const Inputs& inputs) {
        const Tensor low = plain(inputs);
        EXPECT_EQ(low.scalar_type(), at::kBFloat16);
        at::autocast::set_autocast_enabled(torch::kCPU, false);
        const Tensor full = torch::linear(low.to(at::kFloat), data.weight);
        at::autocast::set_autocast_enabled(torch::kCPU, true);
        return full.tanh() * low;
      };
      y = is_checkpointed ? checkpointed(mixed, {data.x}) : mixed({data.x});
    }
    y.sum().backward();
    EXPECT_FALSE(at::autocast::is_autocast_enabled(torch::kCPU));
    return data.weight.grad().clone();
  };
  EXPECT_TRUE(torch::equal(run(true), run(false)));
}

TEST_F(CheckpointTest, AnExceptionInTheMiddleOfItLeavesEverythingUsable) {
  int runs = 0;
  Watched watched;
  const TensorFunction failing = [&](const Inputs& inputs) {
    const Tensor y = watched(torch::sigmoid(torch::linear(inputs.front(), data.weight)));
    if (++runs == 2) TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory left");
    return y.square().exp();
  };
  const Tensor y = checkpointed(failing, {data.x});
  EXPECT_THROW(y.sum().backward(), c10::OutOfMemoryError);
  EXPECT_FALSE(watched.is_alive()) << "what it had computed is gone";
  EXPECT_TRUE(torch::GradMode::is_enabled());
  Watched saved;
  const Tensor z = saved(torch::sigmoid(data.x)).square();
  EXPECT_TRUE(saved.is_alive()) << "nobody's slots fill any more";
  expect_same(layer);
}

TEST_F(CheckpointTest, AGraphThatIsKeptIsComputedAgainForEachBackward) {
  int runs = 0;
  const TensorFunction function = [&](const Inputs& inputs) {
    ++runs;
    return layer(inputs);
  };
  const Tensor loss = checkpointed(function, {data.x}).sum();
  loss.backward({}, /*retain_graph=*/true);
  const Tensor once = data.x.grad().clone();
  loss.backward();
  EXPECT_TRUE(torch::equal(data.x.grad(), once + once));
  EXPECT_EQ(runs, 3);
}

TEST_F(CheckpointTest, AFunctionThatSavesOtherTensorsTheSecondTimeIsRefused) {
  int runs = 0;
  const TensorFunction fickle = [&](const Inputs& inputs) {
    const Tensor y = torch::sigmoid(torch::linear(inputs.front(), data.weight));
    return ++runs == 1 ? y.square() : y.narrow(1, 0, 4).square();
  };
  const auto message = [&](const TensorFunction& function) -> std::string {
    const Tensor y = checkpointed(function, {data.x});
    try {
      y.sum().backward();
    } catch (const c10::Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(fickle), HasSubstr("checkpointing: computed again, save 4 is 32 Float"));
  runs = 0;
  const TensorFunction shorter = [&](const Inputs& inputs) {
    const Tensor y = torch::sigmoid(torch::linear(inputs.front(), data.weight));
    return ++runs == 1 ? y.square() : y;
  };
  EXPECT_THAT(message(shorter), HasSubstr("save 4 of 4 was not made"));
}

TEST_F(CheckpointTest, WhoListensHearsTheRecomputationInsideTheBackward) {
  Heard heard;
  const Tensor y = checkpointed(layer, {data.x}, [&] { return &heard; });
  EXPECT_TRUE(heard.texts.empty());
  y.sum().backward();
  EXPECT_THAT(heard.texts, testing::ElementsAre("+recompute", "-recompute"));
}

// Whole small models.

struct Cell {
  const char* checkpoint;
  Precision precision;
  Attention attention;
};

RunSpec spec_of(const Cell& cell, bool is_checkpointed) {
  RunSpec spec = tiny_spec();
  spec.layers = 5;
  spec.kv_heads = 2;
  spec.precision = cell.precision;
  spec.attention = cell.attention;
  if (is_checkpointed) spec.checkpoint = parse_checkpoint("--recompute", cell.checkpoint);
  return spec;
}

constexpr int kMostSteps = 12;

// The bits of FP32 numbers: a NaN equals itself.
Tensor bits(const Tensor& tensor) { return tensor.view(torch::kInt32); }

struct Built {
  explicit Built(const RunSpec& spec) : data(spec, spec.vocab_size, torch::kCPU, kMostSteps) {
    std::vector<std::string> notes;
    step = build_step(spec, torch::kCPU, &notes);
  }
  std::vector<Tensor> gradients() const {
    std::vector<Tensor> all;
    for (const Tensor& parameter : step->model()->parameters()) all.push_back(parameter.grad());
    return all;
  }
  std::unique_ptr<Step> step;
  Data data;
};

class CheckpointedModel : public testing::TestWithParam<Cell> {};

TEST_P(CheckpointedModel, HasTheSameLossesAndGradientsToTheBitOverThreeSteps) {
  const Built plain(spec_of(GetParam(), false));
  const Built again(spec_of(GetParam(), true));
  // FP16's first steps are skipped, until the scale is low enough.
  const int steps = GetParam().precision == Precision::kFp16 ? kMostSteps : 3;
  for (int i = 0; i < steps; ++i) {
    const Tensor wanted = plain.step->run(plain.data.batch(i));
    EXPECT_TRUE(torch::equal(again.step->run(again.data.batch(i)), wanted)) << i;
    const auto gradients = again.gradients();
    const auto wanted_gradients = plain.gradients();
    for (size_t k = 0; k < gradients.size(); ++k) {
      ASSERT_TRUE(gradients[k].defined());
      EXPECT_TRUE(torch::equal(bits(gradients[k]), bits(wanted_gradients[k]))) << k;
      if (i == steps - 1) {
        EXPECT_TRUE(torch::isfinite(gradients[k]).all().item<bool>());
      }
    }
  }
}

std::vector<Cell> model_cells() {
  std::vector<Cell> cells;
  for (const char* checkpoint : {"full", "every:2", "every:5", "blocks:50%", "selective"}) {
    for (const Precision precision :
         {Precision::kFp32, Precision::kBf16, Precision::kFp16, Precision::kFp8}) {
      for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
        cells.push_back({checkpoint, precision, attention});
      }
    }
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Cells, CheckpointedModel,
                         testing::ValuesIn(share_by_day(model_cells(), 7)), [](const auto& info) {
                           std::string name = info.param.checkpoint;
                           for (char& c : name) {
                             if (isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name + "_" + to_string(info.param.precision) + "_" +
                                  to_string(info.param.attention);
                         });

TEST(CheckpointedStep, OpensTheScopesOfItsBlocksAgainInsideTheBackward) {
  RunSpec spec = spec_of({"every:2", Precision::kFp32, Attention::kEager}, true);
  spec.layers = 3;
  spec.profile_type = Mode::kForwardBackward;
  const Built built(spec);
  Heard heard;
  const Listening listening(*built.step, &heard);
  built.step->run(built.data.batch(0));
  EXPECT_EQ(join(heard.texts, " "),
            "+forward +block 0 -block 0 +block 1 -block 1 +block 2 -block 2 -forward +loss -loss "
            "+backward +recompute +block 2 -block 2 -recompute "
            "+recompute +block 0 -block 0 +block 1 -block 1 -recompute -backward");
}

// A block runs out of memory in its recomputation; the next step is unaffected.
TEST(CheckpointedStep, OutOfMemoryInARecomputationLeavesTheStepUsable) {
  const Cell cell{"full", Precision::kBf16, Attention::kEager};
  const Built plain(spec_of(cell, false));
  const Built again(spec_of(cell, true));
  const BlockRunner run_block = again.step->run_block;
  int runs = 0;
  again.step->run_block = [&](int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    TORCH_CHECK_WITH(OutOfMemoryError, ++runs != 7, "no memory left");  // 5 forward, 2 backward
    return run_block(index, block, x_BSD);
  };
  EXPECT_THROW(again.step->run(again.data.batch(0)), c10::OutOfMemoryError);
  EXPECT_EQ(runs, 7);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(torch::kCPU));
  for (int i = 0; i < 2; ++i) {
    const Tensor wanted = plain.step->run(plain.data.batch(i));
    EXPECT_TRUE(torch::equal(again.step->run(again.data.batch(i)), wanted));
  }
}

TEST(CheckpointedStep, SaysWhereTheSettingChangesNothing) {
  std::vector<std::string> notes;
  RunSpec spec = tiny_spec();
  spec.checkpoint = {CheckpointKind::kSelective};
  spec.attention = Attention::kSdpa;
  build_step(spec, torch::kCPU, &notes);
  spec.checkpoint = {CheckpointKind::kFull};
  spec.profile_type = Mode::kForward;
  build_step(spec, torch::kCPU, &notes);
  EXPECT_THAT(notes, testing::ElementsAre(HasSubstr("--recompute selective recomputes nothing"),
                                          HasSubstr("--recompute full changes nothing")));
}

}  // namespace
}  // namespace headroom
