#include "train/optim/adam8bit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "train/data/safetensors.h"
#include "train/optim/adamw.h"

namespace headroom {
namespace {

using torch::Tensor;

// The results of tests/baselines/optim/against_bitsandbytes.py.
std::map<std::string, Tensor> of_bitsandbytes() {
  const SafetensorsFile file(HEADROOM_BASELINES "/optim/bitsandbytes.safetensors");
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, entry] : file.entries()) {
    tensors[name] = torch::from_blob(const_cast<void*>(entry.data), entry.shape).clone();
  }
  return tensors;
}

TEST(Adam8bit, TheMapsAreThoseOfBitsandbytes) {
  const auto theirs = of_bitsandbytes();
  const DynamicMaps maps(torch::kCPU);
  EXPECT_TRUE(maps.with_sign.values.equal(theirs.at("signed_map")));
  EXPECT_TRUE(maps.without_sign.values.equal(theirs.at("unsigned_map")));
  EXPECT_EQ(maps.table.nbytes(), optimizer_shared_bytes(OptimizerKind::kAdam8bit));
}

TEST(Adam8bit, OptimizersOfOneDeviceShareTheirMaps) {
  const auto one = dynamic_maps(torch::kCPU);
  EXPECT_EQ(dynamic_maps(torch::kCPU), one);
}

// Full blocks and a partial one, with elements over seven orders of magnitude, of both signs.
Tensor gradients_of_all_sizes() {
  torch::manual_seed(5);
  return torch::randn({17, 242}) * torch::pow(10.0, -7 * torch::rand({17, 242}));
}

struct Stored {
  Tensor codes, scales;  // as in bitsandbytes
};

Stored stored(const Adam8bit& optimizer, size_t moment) {
  return {optimizer.state()[moment].flatten(), optimizer.state()[2 + moment].flatten()};
}

// The first step stores a tenth of the gradient and a thousandth of its square.
TEST(Adam8bit, AMomentIsStoredAsTheNearestValueOfItsBlock) {
  Tensor p = torch::zeros({17, 242});
  const Tensor g = gradients_of_all_sizes();
  p.mutable_grad() = g;
  Adam8bit optimizer({p}, {});
  optimizer.step();
  const DynamicMaps maps(torch::kCPU);
  for (const size_t moment : {0, 1}) {
    const Tensor& values = (moment == 0 ? maps.with_sign : maps.without_sign).values;
    const Tensor exact = (moment == 0 ? g * 0.1 : g * g * 0.001).flatten();
    const Stored kept = stored(optimizer, moment);
    for (int64_t block = 0; block < 17; ++block) {
      const Tensor x = exact.slice(0, 256 * block, 256 * (block + 1));
      const Tensor codes = kept.codes.slice(0, 256 * block, 256 * (block + 1));
      const Tensor scale = kept.scales[block];
      EXPECT_FLOAT_EQ(scale.item<float>(), x.abs().max().item<float>());
      const Tensor decoded = values.index_select(0, codes.to(torch::kInt)) * scale;
      const Tensor distance = (x.unsqueeze(1) - (values * scale).unsqueeze(0)).abs();
      const Tensor least = std::get<0>(distance.min(1));
      EXPECT_TRUE(torch::allclose((decoded - x).abs(), least, 1e-4, 1e-7 * scale.item<double>()));
    }
  }
}

// The parameters of another library's optimizer, run in Python, after five steps.
TEST(Adam8bit, UpdatesAreThoseOfBitsandbytes) {
  const auto theirs = of_bitsandbytes();
  const SafetensorsFile file(HEADROOM_BASELINES "/optim/inputs.safetensors");
  for (const auto& [name, entry] : file.entries()) {
    const Tensor initial = torch::from_blob(const_cast<void*>(entry.data), entry.shape).clone();
    Tensor p = initial.clone();
    Adam8bit optimizer({p}, {.learning_rate = 1e-2, .weight_decay = 0.1});
    for (int64_t step = 1; step <= 5; ++step) {
      const Tensor x = torch::roll(initial.flatten(), {7 * step});
      p.mutable_grad() =
          (x * x.abs() * std::pow(4.0F, static_cast<float>(1 - step))).view(initial.sizes());
      optimizer.step();
    }
    const Tensor error = (p.flatten().slice(0, 0, std::nullopt, 5) - theirs.at(name)).abs();
    // If two values are equally near, the last bit of a moment decides between them.
    EXPECT_LE(error.gt(2e-6).sum().item<int64_t>(), error.numel() / 1000) << name;
    EXPECT_LE(error.max().item<double>(), 1e-2) << name;
  }
}

TEST(Adam8bit, ATensorOfFewerThan4096ElementsIsUpdatedAsByAdamw) {
  torch::manual_seed(5);
  Tensor small = torch::randn({63, 65});
  Tensor theirs = small.clone();
  Tensor large = torch::randn({64, 64});
  Adam8bit optimizer({small, large}, {});
  Adamw adamw({theirs}, OptimizerImpl::kForeach, {.eps = 0});
  for (int step = 0; step < 5; ++step) {
    small.mutable_grad() = torch::randn_like(small);
    theirs.mutable_grad() = small.grad().clone();
    large.mutable_grad() = torch::randn_like(large);
    optimizer.step();
    adamw.step();
    EXPECT_TRUE(torch::allclose(small, theirs, 1e-5, 1e-6)) << step;
  }
  EXPECT_EQ(optimizer.state()[0].scalar_type(), torch::kFloat);
  EXPECT_EQ(optimizer.state()[1].scalar_type(), torch::kByte);
  EXPECT_EQ(optimizer.state()[4].numel(), 0) << "scales of m of the small one";
}

// Only that element's moments are reset, nothing else in any block.
TEST(Adam8bit, AGradientThatIsNotFiniteIsItsElementsAlone) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Tensor p = torch::zeros({17, 242});
    Tensor clean = torch::zeros({17, 242});
    Adam8bit optimizer({p}, {.weight_decay = 0});
    Adam8bit other({clean}, {.weight_decay = 0});
    for (int step = 0; step < 3; ++step) {
      const Tensor g = gradients_of_all_sizes();
      clean.mutable_grad() = g.clone();
      clean.grad()[3][100] = 0;
      p.mutable_grad() = g.clone();
      p.grad()[3][100] = bad;
      optimizer.step();
      other.step();
    }
    EXPECT_TRUE(p.equal(clean)) << bad;
    for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(optimizer.state()[i].equal(other.state()[i])) << i;
  }
}

// A gradient whose square overflows corrupts only the v of its block.
TEST(Adam8bit, AnOverflowStaysInItsBlock) {
  Tensor p = torch::zeros({4, 2048});
  Adam8bit optimizer({p}, {});
  p.mutable_grad() = torch::ones({4, 2048});
  p.grad()[1][300] = 1e38;
  for (int step = 0; step < 2; ++step) optimizer.step();
  const Tensor finite = torch::isfinite(p.view({-1, 256})).all(1);
  EXPECT_EQ(finite.logical_not().sum().item<int64_t>(), 1);
  EXPECT_FALSE(finite[9].item<bool>()) << "elements 2304 to 2559";
}

// A tensor of several chunks gives the same result as its parts.
TEST(Adam8bit, ChunksDoNotShow) {
  const int64_t elements = kAdam8bitChunk + 3 * 256 + 17;
  torch::manual_seed(5);
  Tensor whole = torch::randn({elements});
  Tensor begin = whole.slice(0, 0, 4096).clone();
  Tensor end = whole.slice(0, kAdam8bitChunk - 4096).clone();
  Adam8bit optimizer({whole, begin, end}, {});
  for (int step = 0; step < 2; ++step) {
    whole.mutable_grad() = torch::randn_like(whole);
    begin.mutable_grad() = whole.grad().slice(0, 0, 4096).clone();
    end.mutable_grad() = whole.grad().slice(0, kAdam8bitChunk - 4096).clone();
    optimizer.step();
  }
  EXPECT_TRUE(whole.slice(0, 0, 4096).equal(begin));
  EXPECT_TRUE(whole.slice(0, kAdam8bitChunk - 4096).equal(end));
}

}  // namespace
}  // namespace headroom
