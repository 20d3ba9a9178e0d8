#include "train/data/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/files/scratch_directory.h"
#include "tests/train/tiny_spec.h"
#include "text/quantity.h"
#include "train/build.h"
#include "train/data/safetensors.h"

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

class Weights : public testing::Test {
 protected:
  std::string refusal(const Entries& entries) {
    write_safetensors(path_, entries);
    Transformer model = model_of(2);
    return message_of<UsageError>([&] { load_weights(*model, path_); });
  }
  ScratchDirectory scratch_;
  std::string path_ = scratch_.file("weights.safetensors");
};

TEST_F(Weights, SavedAndLoadedAreEqualToTheBit) {
  Transformer one = model_of(1);
  Transformer two = model_of(2);
  const Tensor tokens = torch::arange(32).view({2, 16});
  ASSERT_FALSE(one->forward(tokens).equal(two->forward(tokens)));
  save_weights(*one, path_);
  load_weights(*two, path_);
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
    load_weights(*two, path_);
    const auto parameters = two->parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_EQ(parameters[i].scalar_type(), at::kFloat);
      EXPECT_TRUE(parameters[i].equal(contents.tensors[i].to(at::kFloat))) << word << " " << i;
    }
  }
}

TEST_F(Weights, WhatDoesNotFitTheModelIsRefusedByName) {
  Transformer model = model_of(1);
  const Contents contents(model);
  Entries entries = contents.entries;
  entries.pop_back();
  EXPECT_THAT(refusal(entries), HasSubstr("does not hold " + contents.entries.back().first));

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
  save_weights(*build_step(spec, torch::kCPU, &notes)->model(), path_);
  const Batch batch = Data(spec, spec.vocab_size, torch::kCPU, 1).batch(0);
  const double loss = build_step(spec, torch::kCPU, &notes)->run(batch).item<double>();
  spec.seed = 99;
  EXPECT_NE(build_step(spec, torch::kCPU, &notes)->run(batch).item<double>(), loss);
  spec.load_weights = path_;
  EXPECT_EQ(build_step(spec, torch::kCPU, &notes)->run(batch).item<double>(), loss);
  spec.layers = 4;
  EXPECT_THROW(build_step(spec, torch::kCPU, &notes), UsageError);
}

}  // namespace
}  // namespace headroom
