#include "train/techniques/activations/saved_tensors.h"

#include <gtest/gtest.h>

#include <thread>

namespace headroom {
namespace {

using torch::Tensor;

// Keeps tensors in BF16, and counts them.
class CountingSaves final : public SavedTensors {
 public:
  explicit CountingSaves(bool packs = true) : packs_(packs) {}

  std::unique_ptr<PackedTensor> pack(const Tensor& tensor) override {
    EXPECT_FALSE(tensor.requires_grad());
    EXPECT_FALSE(torch::GradMode::is_enabled());
    ++packed;
    if (!packs_) return nullptr;
    return std::make_unique<Bf16>(tensor, unpacked);
  }

  int packed = 0;
  int unpacked = 0;

 private:
  class Bf16 final : public PackedTensor {
   public:
    Bf16(const Tensor& tensor, int& unpacked)
        : value_(tensor.to(torch::kBFloat16)), unpacked_(unpacked) {}
    Tensor unpack() override {
      ++unpacked_;
      return value_.to(torch::kFloat32);
    }

   private:
    Tensor value_;
    int& unpacked_;
  };
  bool packs_;
};

struct Graph {
  Tensor x, weight;
  Tensor loss() const { return torch::sigmoid(torch::linear(x, weight)).square().sum(); }
};

Graph some_graph() {
  torch::manual_seed(1);
  return {torch::randn({8, 16}).requires_grad_(true), torch::randn({4, 16}).requires_grad_(true)};
}

class SavedTensorsTest : public testing::Test {
 protected:
  SavedTensorsTest() { install_saved_tensor_hooks(); }
};

TEST_F(SavedTensorsTest, EverySaveGoesThroughTheGuardAndComesBackInBackward) {
  const Graph graph = some_graph();
  graph.loss().backward();
  const Tensor wanted = graph.x.grad().clone();
  graph.x.mutable_grad() = Tensor();
  CountingSaves saves;
  Tensor loss;
  {
    const SavingGuard guard(&saves);
    loss = graph.loss();
  }
  EXPECT_EQ(saves.packed, 4) << "x, weight, sigmoid's result, square's input";
  EXPECT_EQ(saves.unpacked, 0);
  loss.backward();
  EXPECT_EQ(saves.unpacked, 4);
  const double off = (graph.x.grad() - wanted).abs().max().item<double>();
  EXPECT_LE(off, 0.02 * wanted.abs().max().item<double>());
  EXPECT_FALSE(torch::equal(graph.x.grad(), wanted)) << "BF16 loses something";
}

TEST_F(SavedTensorsTest, WhatIsNotPackedIsKeptAsItIs) {
  const Graph graph = some_graph();
  graph.loss().backward();
  const Tensor wanted = graph.weight.grad().clone();
  graph.weight.mutable_grad() = Tensor();
  CountingSaves saves(/*packs=*/false);
  Tensor loss;
  {
    const SavingGuard guard(&saves);
    loss = graph.loss();
  }
  loss.backward();
  EXPECT_EQ(saves.packed, 4);
  EXPECT_TRUE(torch::equal(graph.weight.grad(), wanted));
}

TEST_F(SavedTensorsTest, TheInnermostGuardHoldsAndTheOuterOneComesBack) {
  const Graph graph = some_graph();
  CountingSaves outer;
  CountingSaves inner;
  const SavingGuard guard(&outer);
  {
    const SavingGuard nested(&inner);
    graph.loss();
    const SavingGuard none(nullptr);
    graph.loss();
  }
  EXPECT_EQ(inner.packed, 4);
  EXPECT_EQ(outer.packed, 0);
  graph.loss();
  EXPECT_EQ(outer.packed, 4);
}

TEST_F(SavedTensorsTest, AnotherThreadSavesAsItDid) {
  const Graph graph = some_graph();
  CountingSaves saves;
  const SavingGuard guard(&saves);
  std::thread([&] { graph.loss(); }).join();
  EXPECT_EQ(saves.packed, 0);
}

// A graph dropped without a backward frees its saved tensors: no output keeps itself alive.
TEST_F(SavedTensorsTest, AnOutputDoesNotKeepItselfAlive) {
  const Graph graph = some_graph();
  CountingSaves saves(/*packs=*/false);
  c10::weak_intrusive_ptr<c10::StorageImpl> storage(
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
          torch::zeros({1}).storage().unsafeGetStorageImpl()));
  {
    const SavingGuard guard(&saves);
    const Tensor result = torch::sigmoid(graph.x);
    storage = c10::weak_intrusive_ptr<c10::StorageImpl>(
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
            result.storage().unsafeGetStorageImpl()));
    EXPECT_FALSE(storage.expired());
  }
  EXPECT_TRUE(storage.expired());
}

}  // namespace
}  // namespace headroom
