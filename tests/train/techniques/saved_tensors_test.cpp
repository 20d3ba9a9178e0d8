#include "train/techniques/saved_tensors.h"

#include <gtest/gtest.h>

#include <thread>

namespace headroom {
namespace {

using torch::Tensor;

// Keeps BF16, and counts.
class Counting final : public SavedTensors {
 public:
  explicit Counting(bool packs = true) : packs_(packs) {}

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

struct Run {
  Tensor x, weight;
  Tensor loss() const { return torch::sigmoid(torch::linear(x, weight)).square().sum(); }
};

Run some_run() {
  torch::manual_seed(1);
  return {torch::randn({8, 16}).requires_grad_(true), torch::randn({4, 16}).requires_grad_(true)};
}

class SavedTensorsTest : public testing::Test {
 protected:
  SavedTensorsTest() { install_saved_tensor_hooks(); }
};

TEST_F(SavedTensorsTest, EverySaveGoesThroughTheGuardAndComesBackInBackward) {
  const Run run = some_run();
  run.loss().backward();
  const Tensor wanted = run.x.grad().clone();
  run.x.mutable_grad() = Tensor();
  Counting saves;
  Tensor loss;
  {
    const SavingGuard guard(&saves);
    loss = run.loss();
  }
  EXPECT_EQ(saves.packed, 4) << "x, weight, sigmoid's result, square's input";
  EXPECT_EQ(saves.unpacked, 0);
  loss.backward();
  EXPECT_EQ(saves.unpacked, 4);
  EXPECT_TRUE(torch::allclose(run.x.grad(), wanted, /*rtol=*/2e-2, /*atol=*/1e-3));
  EXPECT_FALSE(torch::equal(run.x.grad(), wanted)) << "BF16 loses something";
}

TEST_F(SavedTensorsTest, WhatIsNotPackedIsKeptAsItIs) {
  const Run run = some_run();
  run.loss().backward();
  const Tensor wanted = run.weight.grad().clone();
  run.weight.mutable_grad() = Tensor();
  Counting saves(/*packs=*/false);
  Tensor loss;
  {
    const SavingGuard guard(&saves);
    loss = run.loss();
  }
  loss.backward();
  EXPECT_EQ(saves.packed, 4);
  EXPECT_TRUE(torch::equal(run.weight.grad(), wanted));
}

TEST_F(SavedTensorsTest, TheInnermostGuardHoldsAndTheOuterOneComesBack) {
  const Run run = some_run();
  Counting outer;
  Counting inner;
  const SavingGuard guard(&outer);
  {
    const SavingGuard nested(&inner);
    run.loss();
    const SavingGuard none(nullptr);
    run.loss();
  }
  EXPECT_EQ(inner.packed, 4);
  EXPECT_EQ(outer.packed, 0);
  run.loss();
  EXPECT_EQ(outer.packed, 4);
}

TEST_F(SavedTensorsTest, AnotherThreadSavesAsItDid) {
  const Run run = some_run();
  Counting saves;
  const SavingGuard guard(&saves);
  std::thread([&] { run.loss(); }).join();
  EXPECT_EQ(saves.packed, 0);
}

// A graph that is dropped without a backward drops what it kept: no output keeps itself alive.
TEST_F(SavedTensorsTest, AnOutputDoesNotKeepItselfAlive) {
  const Run run = some_run();
  Counting saves(/*packs=*/false);
  c10::weak_intrusive_ptr<c10::StorageImpl> storage(
      c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
          torch::zeros({1}).storage().unsafeGetStorageImpl()));
  {
    const SavingGuard guard(&saves);
    const Tensor result = torch::sigmoid(run.x);
    storage = c10::weak_intrusive_ptr<c10::StorageImpl>(
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(
            result.storage().unsafeGetStorageImpl()));
    EXPECT_FALSE(storage.expired());
  }
  EXPECT_TRUE(storage.expired());
}

}  // namespace
}  // namespace headroom
