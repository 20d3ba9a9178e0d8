#include "train/optim/muon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/files/scratch_directory.h"
#include "train/optim/adamw.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using torch::Tensor;

constexpr MuonOptions kMuon = {.learning_rate = 1e-2, .weight_decay = 0.1};
constexpr int64_t kSteps = 4;

// inputs: each a weight, then a gradient for each step. Returns weight and momentum of each; empty
// without Python's torch.
std::vector<Tensor> by_torch(const std::vector<Tensor>& inputs) {
  const ScratchDirectory scratch;
  std::ostringstream command;
  command << HEADROOM_TORCH_PYTHON << " " HEADROOM_SOURCES "/tests/train/optim/torch_muon.py "
          << kSteps;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    const std::string name = std::to_string(i);
    scratch.write(name, std::string(static_cast<const char*>(input.data_ptr()), input.nbytes()));
    command << ' ' << scratch.file(name) << ' ' << input.size(1) << ' ' << input.size(2);
  }
  if (std::system(command.str().c_str()) != 0) return {};
  std::vector<Tensor> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor result = torch::empty({2, inputs[i].size(1), inputs[i].size(2)});
    std::ifstream(scratch.file(std::to_string(i)), std::ios::binary)
        .read(static_cast<char*>(result.data_ptr()), static_cast<std::streamsize>(result.nbytes()));
    results.push_back(result);
  }
  return results;
}

TEST(Muon, WeightAndMomentumAreThoseOfTorchsMuonBitForBit) {
  if (!std::ifstream(HEADROOM_TORCH_PYTHON)) GTEST_SKIP() << "no Python with torch";
  torch::manual_seed(5);
  std::vector<Tensor> inputs;
  for (const auto& [rows, columns] : {std::pair{32, 32}, {48, 20}, {24, 96}}) {
    inputs.push_back(torch::randn({1 + kSteps, rows, columns}));
  }
  const std::vector<Tensor> expected = by_torch(inputs);
  ASSERT_EQ(expected.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Tensor weight = inputs[i][0].clone();
    Muon optimizer({weight}, {"layers.0.ffn.w1.weight"}, kMuon);
    for (int64_t step = 1; step <= kSteps; ++step) {
      weight.mutable_grad() = inputs[i][step].clone();
      optimizer.step();
    }
    EXPECT_TRUE(weight.equal(expected[i][0])) << weight.sizes();
    EXPECT_TRUE(optimizer.state()[0].equal(expected[i][1])) << weight.sizes();
  }
}

// The update's singular values are around 1, whatever the gradient's.
TEST(Muon, TheUpdateIsAboutOrthogonal) {
  torch::manual_seed(6);
  Tensor weight = torch::zeros({16, 40});
  Muon optimizer({weight}, {"attn.q_proj.weight"}, {.learning_rate = 1, .weight_decay = 0});
  weight.mutable_grad() = torch::randn({16, 40}) * torch::logspace(-1, 1, 16).unsqueeze(1);
  optimizer.step();
  const Tensor values = torch::linalg_svdvals(weight) / (0.2 * std::sqrt(40.0));
  EXPECT_GT(values.min().item<double>(), 0.5);
  EXPECT_LT(values.max().item<double>(), 1.3);
}

TEST(Muon, TableHeadAndNormsAreUpdatedByAdamw) {
  for (const char* name : {"token_embeddings.weight", "lm_head.weight", "layers.1.ln2.weight"}) {
    Tensor p = torch::ones({4});
    if (std::string(name).find("ln") == std::string::npos) p = torch::ones({4, 1});
    Muon optimizer({p}, {name}, {.learning_rate = 0.1, .weight_decay = 0});
    p.mutable_grad() = torch::full_like(p, 7);
    optimizer.step();
    EXPECT_TRUE(torch::allclose(p, torch::full_like(p, 0.9))) << name;
    EXPECT_EQ(optimizer.state()[0].numel(), 0) << name;
    EXPECT_EQ(optimizer.state()[1].numel(), 4) << name;
  }
}

TEST(Muon, TheOtherParametersMoveAsByTheOptimizerAdamwBitForBit) {
  torch::manual_seed(7);
  Tensor p = torch::randn({6, 5});
  Tensor other = p.clone();
  Muon muon({p}, {"lm_head.weight"}, kMuon);
  Adamw adamw({other}, OptimizerImpl::kForeach,
              {.learning_rate = kMuon.learning_rate, .weight_decay = kMuon.weight_decay});
  for (int step = 0; step < 3; ++step) {
    p.mutable_grad() = torch::randn_like(p);
    other.mutable_grad() = p.grad().clone();
    muon.step();
    adamw.step();
    EXPECT_TRUE(p.equal(other)) << step;
  }
}

TEST(Muon, WithoutNamesItRefuses) {
  try {
    Muon({torch::zeros({3, 2})}, {}, kMuon);
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("muon: 0 names for 1 parameters"));
  }
}

}  // namespace
}  // namespace headroom
