#include "train/data/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/files/scratch_directory.h"
#include "tests/train/data/write_safetensors.h"
#include "tests/train/support/tiny_spec.h"
#include "text/quantity.h"
#include "train/build.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using torch::Tensor;
using Entries = std::vector<std::pair<std::string, SafetensorsEntry>>;

Transformer model_of(int64_t seed) {
  torch::manual_seed(static_cast<uint64_t>(seed));
  const RunSpec spec = tiny_spec();
  return Transformer(eager_layers(), model_config(spec), spec.context_length, Attention::kEager,
                     torch::kCPU);
}

// The model's tensors as entries of a file, cast to `dtype`.
struct Contents {
  explicit Contents(Transformer& model, at::ScalarType dtype = at::kFloat,
                    const std::string& word = "F32") {
    for (const auto& item : model->named_parameters()) {
      tensors.push_back(item.value().detach().to(dtype));
      const Tensor& tensor = tensors.back();
      entries.push_back({item.key(),
                         {word, tensor.sizes().vec(), tensor.const_data_ptr(),
                          static_cast<int64_t>(tensor.nbytes())}});
    }
  }
  std::vector<Tensor> tensors;
  Entries entries;
};

// Counts the live bytes of libtorch's host allocator during this object's lifetime.
class CountedHostMemory final : public c10::Allocator {
 public:
  CountedHostMemory() : before_(c10::GetAllocator(at::kCPU)) {
    current = this;
    c10::SetAllocator(at::kCPU, this);
  }
  ~CountedHostMemory() override { c10::SetAllocator(at::kCPU, before_); }
  c10::DataPtr allocate(size_t size) override {
    live_ += static_cast<int64_t>(size);
    peak_ = std::max(peak_, live_);
    auto* const block = new Block{before_->allocate(size), static_cast<int64_t>(size)};
    return {block->memory.get(), block, free, at::kCPU};
  }
  void copy_data(void* to, const void* from, size_t size) const override {
    std::memcpy(to, from, size);
  }
  int64_t peak_bytes() const { return peak_; }

 private:
  struct Block {
    c10::DataPtr memory;
    int64_t size;
  };
  static void free(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    current->live_ -= block->size;
  }
  static inline CountedHostMemory* current = nullptr;

  c10::Allocator* before_;
  int64_t live_ = 0;
  int64_t peak_ = 0;
};

class Weights : public testing::Test {
 protected:
  std::string refusal(const Entries& entries) {
    write_safetensors(path_, entries);
    Transformer model = model_of(2);
    return message_of<UsageError>([&] { load_weights(model->named_parameters(), path_); });
  }
  ScratchDirectory scratch_;
  std::string path_ = scratch_.file("weights.safetensors");
};

TEST_F(Weights, SavedAndLoadedAreEqualToTheBit) {
  Transformer one = model_of(1);
  Transformer two = model_of(2);
  const Tensor tokens = torch::arange(32).view({2, 16});
  ASSERT_FALSE(one->forward(tokens).equal(two->forward(tokens)));
  save_weights(one->named_parameters(), path_);
  load_weights(two->named_parameters(), path_);
  for (const auto& item : one->named_parameters()) {
    EXPECT_TRUE(item.value().equal(two->named_parameters()[item.key()])) << item.key();
  }
  EXPECT_TRUE(one->forward(tokens).equal(two->forward(tokens)));
  for (const Tensor& parameter : two->parameters()) EXPECT_TRUE(parameter.requires_grad());
}

TEST_F(Weights, LowPrecisionFilesAreWidened) {
  Transformer one = model_of(1);
  for (const auto& [dtype, word] : {std::pair{at::kBFloat16, "BF16"}, {at::kHalf, "F16"}}) {
    const Contents contents(one, dtype, word);
    write_safetensors(path_, contents.entries);
    Transformer two = model_of(2);
    load_weights(two->named_parameters(), path_);
    const auto parameters = two->parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_EQ(parameters[i].scalar_type(), at::kFloat);
      EXPECT_TRUE(parameters[i].equal(contents.tensors[i].to(at::kFloat))) << word << " " << i;
    }
  }
}

TEST_F(Weights, SavingTakesTheHostMemoryOfOneTensor) {
  Transformer model = model_of(1);
  model->to(at::kHalf);  // every tensor must be widened for the file
  int64_t largest = 0;
  int64_t all = 0;
  for (const Tensor& parameter : model->parameters()) {
    largest = std::max(largest, 4 * parameter.numel());
    all += 4 * parameter.numel();
  }
  ASSERT_GT(all, 4 * largest);
  const CountedHostMemory memory;
  save_weights(model->named_parameters(), path_);
  EXPECT_GE(memory.peak_bytes(), largest);
  EXPECT_LT(memory.peak_bytes(), largest + 1024);  // plus alignment
}

TEST_F(Weights, WhatDoesNotFitTheModelIsRefusedByName) {
  Transformer model = model_of(1);
  const Contents contents(model);
  Entries entries = contents.entries;
  entries.pop_back();
  EXPECT_THAT(refusal(entries), HasSubstr("does not contain " + contents.entries.back().first));

  entries = contents.entries;
  std::swap(entries[0].second.shape[0], entries[0].second.shape[1]);
  EXPECT_THAT(refusal(entries), HasSubstr("of shape (32, 50); this model's is (50, 32)"));

  entries = contents.entries;
  entries.push_back(entries[0]);
  entries.back().first = "layers.3.ln1.weight";
  EXPECT_THAT(refusal(entries), HasSubstr("does not have: layers.3.ln1.weight"));

  entries = contents.entries;
  entries[0].second.dtype = "I32";
  EXPECT_THAT(refusal(entries), HasSubstr("holds " + entries[0].first + " as I32"));
}

TEST_F(Weights, AStepIsBuiltOverThem) {
  RunSpec spec = tiny_spec();
  std::vector<std::string> notes;
  save_weights(build_step(spec, torch::kCPU, &notes)->weights(), path_);
  const Batch batch = Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0);
  const double loss = build_step(spec, torch::kCPU, &notes)->run(batch).item<double>();
  spec.seed = 99;
  EXPECT_NE(build_step(spec, torch::kCPU, &notes)->run(batch).item<double>(), loss);
  spec.load_weights = path_;
  EXPECT_EQ(build_step(spec, torch::kCPU, &notes)->run(batch).item<double>(), loss);
  spec.layers = 4;
  EXPECT_THROW(build_step(spec, torch::kCPU, &notes), UsageError);
}

TEST_F(Weights, Bf16WeightsAreSavedAsTheyAreAndMastersInTheirPlace) {
  RunSpec spec = tiny_spec();
  spec.weights = WeightType::kBf16;
  std::vector<std::string> notes;
  const auto type_in_file = [&] {
    return SafetensorsFile(path_).entries().at("lm_head.weight").dtype;
  };
  save_weights(build_step(spec, torch::kCPU, &notes)->weights(), path_);
  EXPECT_EQ(type_in_file(), "BF16");
  spec.master_weights = MasterCopy::kFp32;
  const Data data(spec, spec.vocab_size, torch::kCPU, 3);
  const auto step = build_step(spec, torch::kCPU, &notes);
  step->run(data.batch(0));
  save_weights(step->weights(), path_);
  EXPECT_EQ(type_in_file(), "F32");

  // A run continues from them, not from their BF16 roundings.
  spec.load_weights = path_;
  const auto next = build_step(spec, torch::kCPU, &notes);
  const auto before = step->update->master_weights();
  const auto after = next->update->master_weights();
  const auto parameters = next->model()->parameters();
  bool any_lost = false;
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(after[i].equal(before[i]));
    EXPECT_TRUE(parameters[i].equal(before[i].to(at::kBFloat16)));
    any_lost = any_lost || !parameters[i].to(at::kFloat).equal(before[i]);
  }
  EXPECT_TRUE(any_lost);
}

}  // namespace
}  // namespace headroom
