// The contract that every optimizer of train/optim/table.h keeps, in each of its implementations.
// A new one adds tests/baselines/optim/<name>.py, its paper's formula, and what that computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "train/data/safetensors.h"
#include "train/optim/optimizer.h"

namespace headroom {
namespace {

using torch::Tensor;

struct Case {
  OptimizerKind kind;
  OptimizerImpl impl;
};

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const OptimizerInfo& info : optimizers()) {
    for (const OptimizerImpl impl : info.implementations) cases.push_back({info.kind, impl});
  }
  return cases;
}

std::vector<Tensor> some_parameters() {
  torch::manual_seed(3);
  std::vector<Tensor> all = {torch::randn({4, 6}), torch::randn({5}), torch::randn({3, 2, 7})};
  for (Tensor& p : all) p.set_requires_grad(true);
  return all;
}

// Sum of squared distances from one half.
Tensor quadratic(const std::vector<Tensor>& parameters) {
  Tensor loss = torch::zeros({});
  for (const Tensor& p : parameters) loss = loss + (p - 0.5).square().sum();
  return loss;
}

// FP32 tensors of tests/baselines/optim/<name>.safetensors, in the order of their names.
std::map<std::string, Tensor> baseline(const std::string& name) {
  const SafetensorsFile file(HEADROOM_BASELINES "/optim/" + name + ".safetensors");
  std::map<std::string, Tensor> tensors;
  for (const auto& [key, entry] : file.entries()) {
    tensors[key] = torch::from_blob(const_cast<void*>(entry.data), entry.shape).clone();
  }
  return tensors;
}

// That of make.py, from the parameter's first values.
Tensor baseline_gradient(const Tensor& initial, int64_t step) {
  const Tensor x = torch::roll(initial.flatten(), {7 * step});
  return (x * x.abs() * std::pow(4.0F, static_cast<float>(1 - step))).view(initial.sizes());
}

class OptimizerContract : public testing::TestWithParam<Case> {
 protected:
  static std::unique_ptr<Optimizer> optimizer_of(const std::vector<Tensor>& parameters,
                                                 OptimizerImpl impl) {
    RunSpec spec;
    spec.optimizer = GetParam().kind;
    spec.optimizer_impl = impl;
    spec.learning_rate = 1e-2;
    spec.weight_decay = 0.1;
    return make_optimizer(spec, parameters);
  }
  static std::unique_ptr<Optimizer> optimizer_of(const std::vector<Tensor>& parameters) {
    return optimizer_of(parameters, GetParam().impl);
  }
};

TEST_P(OptimizerContract, KeepsTheStateThatItsRowSays) {
  auto p = some_parameters();
  const auto optimizer = optimizer_of(p);
  EXPECT_TRUE(optimizer->state().empty()) << "made at the first step";
  int64_t expected = 0;
  for (const Tensor& tensor : p) {
    expected += optimizer_state_bytes(GetParam().kind, tensor.numel(), 4);
    for (const OptimizerState& state : info_of(GetParam().kind).state) {
      if (state.only == GetParam().impl) expected += 4;
    }
  }
  for (int i = 0; i < 2; ++i) {
    quadratic(p).backward();
    optimizer->step();
    int64_t bytes = 0;
    for (const Tensor& tensor : optimizer->state()) bytes += static_cast<int64_t>(tensor.nbytes());
    EXPECT_EQ(bytes, expected);
  }
}

TEST_P(OptimizerContract, KeepsItsStateInTheOrderOfTheParameters) {
  auto p = some_parameters();
  const auto optimizer = optimizer_of(p);
  quadratic(p).backward();
  optimizer->step();
  const std::vector<Tensor> state = optimizer->state();
  EXPECT_EQ(state.size() % p.size(), 0);
  for (size_t i = 0; i < state.size(); ++i) {
    if (state[i].dim() == 0) continue;  // a step count
    EXPECT_EQ(state[i].sizes(), p[i % p.size()].sizes());
  }
}

TEST_P(OptimizerContract, EveryStepLowersAQuadraticLoss) {
  auto p = some_parameters();
  const auto optimizer = optimizer_of(p);
  double before = quadratic(p).item<double>();
  for (int i = 0; i < 5; ++i) {
    for (Tensor& tensor : p) tensor.mutable_grad() = Tensor();
    quadratic(p).backward();
    optimizer->step();
    const double after = quadratic(p).item<double>();
    EXPECT_LT(after, before);
    before = after;
  }
}

TEST_P(OptimizerContract, UpdatesAreThoseOfItsFirstImplementation) {
  auto p = some_parameters();
  auto first = some_parameters();
  const auto optimizer = optimizer_of(p);
  const auto reference = optimizer_of(first, info_of(GetParam().kind).implementations.front());
  for (int t = 0; t < 5; ++t) {
    for (size_t i = 0; i < p.size(); ++i) {
      p[i].mutable_grad() = torch::randn_like(p[i]) * std::pow(10.0, -t);
      first[i].mutable_grad() = p[i].grad().clone();
    }
    optimizer->step();
    reference->step();
    for (size_t i = 0; i < p.size(); ++i) {
      EXPECT_LE((p[i] - first[i]).abs().max().item<double>(), 1e-6) << "step " << t;
    }
  }
}

// Steps, learning rate and weight decay are those of tests/baselines/optim/make.py.
TEST_P(OptimizerContract, UpdatesAreThoseOfItsPapersFormula) {
  const std::map<std::string, Tensor> inputs = baseline("inputs");
  std::vector<Tensor> p;
  for (const auto& [name, initial] : inputs) p.push_back(initial.clone());
  const auto optimizer = optimizer_of(p);
  for (int64_t step = 1; step <= 5; ++step) {
    size_t i = 0;
    for (const auto& [name, initial] : inputs) {
      p[i++].mutable_grad() = baseline_gradient(initial, step);
    }
    optimizer->step();
  }
  std::string word = to_string(GetParam().kind);
  std::replace(word.begin(), word.end(), '-', '_');
  size_t i = 0;
  for (const auto& [name, expected] : baseline(word)) {
    const Tensor kept = p[i++].flatten().slice(0, 0, std::nullopt, 5);
    ASSERT_EQ(kept.sizes(), expected.sizes()) << name;
    EXPECT_LE((kept - expected).abs().max().item<double>(), 2e-6) << name;
  }
  EXPECT_EQ(i, p.size());
}

TEST_P(OptimizerContract, AParameterWithoutAGradientIsRefusedBeforeAnyChange) {
  auto p = some_parameters();
  const auto optimizer = optimizer_of(p);
  quadratic({p[0], p[1]}).backward();
  const Tensor before = p[0].detach().clone();
  EXPECT_THROW(optimizer->step(), c10::Error);
  EXPECT_TRUE(p[0].equal(before));
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerContract, testing::ValuesIn(every_case()),
                         [](const auto& info) {
                           return to_string(info.param.kind) + "_" + to_string(info.param.impl);
                         });

}  // namespace
}  // namespace headroom
