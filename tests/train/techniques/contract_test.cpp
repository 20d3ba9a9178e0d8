// The contract of docs/step/techniques.md, for values on the CPU: every row of contract.json
// satisfies every line of it. Bytes and leaks: tests/bench/cell/run_contract_test.cpp; on a virtual
// card: tests/virtual_gpu/steps/contract_test.py. Further guarantees of a technique are in its own
// test.
#include "tests/train/techniques/contract.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/at_night.h"
#include "tests/train/techniques/small_step.h"

namespace headroom {
namespace {

using torch::Tensor;

class TechniqueValues : public testing::TestWithParam<ContractCell> {
 protected:
  void SetUp() override { compile_for(GetParam().with); }
};
class TechniqueContract : public TechniqueValues {};
class TechniqueSteps : public TechniqueValues {};
class UnderAutocast : public TechniqueValues {};

std::vector<Tensor> over_their_norm(const std::vector<Tensor>& tensors) {
  double sum = 0;
  for (const Tensor& tensor : tensors) {
    sum += tensor.to(torch::kFloat64).square().sum().item<double>();
  }
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) all.push_back(tensor.to(torch::kFloat64) / std::sqrt(sum));
  return all;
}

// The weights, wherever they are stored.
std::vector<Tensor> weights_of(const SmallStep& small) {
  const OffloadedParameters* const offloaded = small.step->layout.offloaded.get();
  if (offloaded == nullptr) return small.parameters();
  std::vector<Tensor> all;
  for (const Tensor& p : small.step->model()->parameters()) {
    all.push_back(offloaded->on_host(p).detach().clone());
  }
  return all;
}

std::vector<Tensor> compared(const SmallStep& small, Compared what) {
  if (what == Compared::kWeights) return weights_of(small);
  const std::vector<Tensor> gradients = small.gradients();
  return what == Compared::kDirection ? over_their_norm(gradients) : gradients;
}

TEST_P(TechniqueContract, LossAndGradientsAreThoseWithoutItOrWithinTheirTolerance) {
  const ContractCell& cell = GetParam();
  SmallStep with(cell.with);
  SmallStep without(cell.without);
  const double loss = without.run();
  const double own = with.run();
  EXPECT_LE(std::abs(own - loss), cell.loss * loss) << own << " without it " << loss;
  const std::vector<Tensor> expected = compared(without, cell.compared);
  const std::vector<Tensor> result = compared(with, cell.compared);
  for (const Tensor& tensor : result) EXPECT_TRUE(tensor.defined());
  EXPECT_LE(distance(result, expected), cell.gradients);
}

TEST_P(TechniqueSteps, ManyStepsAreTheSameUnderASeedAndOthersUnderAnother) {
  RunSpec spec = GetParam().with;
  const int64_t steps = is_at_night() ? 20 : 2;
  const std::vector<double> losses = SmallStep(spec).run_steps(steps);
  EXPECT_EQ(SmallStep(spec).run_steps(steps), losses);
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
  spec.seed += 1;
  EXPECT_NE(SmallStep(spec).run_steps(1).front(), losses.front());
}

void expect_a_usable_process() {
  EXPECT_FALSE(at::autocast::is_autocast_enabled(torch::kCPU));
  EXPECT_TRUE(torch::GradMode::is_enabled());
}

// In the second block of the first forward. Nothing was updated: later steps are as without the
// failure.
TEST_P(TechniqueSteps, OutOfMemoryInAForwardLeavesTheStepAsItWas) {
  SmallStep usual(GetParam().with);
  SmallStep failing(GetParam().with);
  const BlockRunner run_block = failing.step->run_block;
  bool full = true;
  failing.step->run_block = [&](int64_t index, TransformerBlock& block, const Tensor& x_BSD) {
    TORCH_CHECK_WITH(OutOfMemoryError, !(full && index == 1), "no memory left");
    return run_block(index, block, x_BSD);
  };
  EXPECT_THROW(failing.run(0), c10::OutOfMemoryError);
  expect_a_usable_process();
  full = false;
  EXPECT_EQ(failing.run_steps(2), usual.run_steps(2));
}

// Fails at the gradient of the first block's norm; with several micro-batches, only in the last.
// Released gradients have updated the later blocks by then.
TEST_P(TechniqueSteps, OutOfMemoryInABackwardLeavesTheStepUsable) {
  const RunSpec& spec = GetParam().with;
  SmallStep usual(spec);
  SmallStep failing(spec);
  int64_t gradients_left = spec.micro_batches;
  failing.step->model()->named_parameters()["layers.0.ln1.weight"].register_hook(
      [&](const Tensor&) {
        TORCH_CHECK_WITH(OutOfMemoryError, --gradients_left != 0, "no memory left");
      });
  EXPECT_THROW(failing.run(0), c10::OutOfMemoryError);
  expect_a_usable_process();
  const std::vector<double> losses = failing.run_steps(2);
  if (!spec.release_gradients) {
    EXPECT_EQ(losses, usual.run_steps(2));
  }
  for (const double loss : losses) EXPECT_TRUE(std::isfinite(loss));
}

INSTANTIATE_TEST_SUITE_P(Rows, TechniqueContract,
                         testing::ValuesIn(one_precision_by_day(contract_on_cpu())),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Rows, TechniqueSteps,
                         testing::ValuesIn(share_of(ContractProgram::kValues, contract_on_cpu())),
                         [](const auto& info) { return info.param.name; });

// BF16 numbers are 2^-8 apart, and a loss is a mean of many.
TEST_P(UnderAutocast, TheLossIsFp32sWithinItsRounding) {
  RunSpec spec = GetParam().with;
  const double loss = SmallStep(spec).run();
  spec.precision = Precision::kFp32;
  compile_for(spec);
  const double exact = SmallStep(spec).run();
  EXPECT_NEAR(loss, exact, exact / 256);
}

std::vector<ContractCell> under_autocast() {
  std::vector<ContractCell> cells = contract_on_cpu();
  std::erase_if(cells, [](const auto& cell) { return cell.with.precision != Precision::kBf16; });
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Rows, UnderAutocast, testing::ValuesIn(under_autocast()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace headroom
