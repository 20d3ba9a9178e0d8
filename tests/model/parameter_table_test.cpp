// The table of parameters against the model that libtorch builds.
#include "model/parameter_table.h"

#include <gtest/gtest.h>

#include <map>

#include "model/torch.h"
#include "model/transformer.h"

namespace headroom {
namespace {

ModelConfig tiny() {
  return {.name = "custom",
          .d_model = 24,
          .d_ff = 40,
          .layers = 3,
          .heads = 6,
          .kv_heads = 2,
          .vocab_size = 50};
}

std::map<std::string, std::vector<int64_t>> built(const ModelConfig& config) {
  const Transformer model(eager_layers(), config, /*context_length=*/8, Attention::kEager,
                          torch::kCPU);
  std::map<std::string, std::vector<int64_t>> all;
  for (const auto& item : model->named_parameters()) all[item.key()] = item.value().sizes().vec();
  return all;
}

std::map<std::string, std::vector<int64_t>> listed(const ModelConfig& config) {
  std::map<std::string, std::vector<int64_t>> all;
  for (const ParameterRow& row : parameter_table(config)) all[row.name] = row.sizes;
  return all;
}

// The shape with each layer that a model may have besides, with all of them, and with none.
std::vector<ModelConfig> shapes() {
  std::vector<ModelConfig> all(3 + kLayerSwitches.size(), tiny());
  for (size_t i = 0; i < kLayerSwitches.size(); ++i) {
    all[i].*kLayerSwitches[i].on = all.back().*kLayerSwitches[i].on = true;
  }
  all.back().head_size = all[kLayerSwitches.size()].head_size = 10;
  return all;
}

TEST(ParameterTable, ListsTheNamesAndSizesOfTheModel) {
  for (ModelConfig config : shapes()) {
    EXPECT_EQ(listed(config), built(config));
    EXPECT_EQ(parameter_table(config).size(), listed(config).size());
    config.outputs = 1;
    EXPECT_EQ(listed(config), built(config));
  }
}

TEST(ParameterTable, CountsWhatTheModelHolds) {
  for (const ModelConfig& config : shapes()) {
    int64_t count = 0;
    for (const auto& [name, sizes] : built(config)) {
      int64_t elements = 1;
      for (const int64_t size : sizes) elements *= size;
      count += elements;
    }
    EXPECT_EQ(parameter_count(config), count);
  }
}

TEST(ParameterTable, ATiedHeadIsTheTokenTableAndAHeadOfValuesIsItsOwn) {
  ModelConfig config = tiny();
  const int64_t untied = parameter_count(config);
  config.tied_embeddings = true;
  EXPECT_EQ(parameter_count(config), untied - config.vocab_size * config.d_model);
  EXPECT_FALSE(built(config).contains("lm_head.weight"));
  config.outputs = 1;
  EXPECT_TRUE(built(config).contains("lm_head.weight"));
}

// Every split layer ends with a split by columns, where the ranks add their products.
TEST(ParameterTable, SplitsMatricesAndBiasesAndLeavesNormsWhole) {
  for (const ModelConfig& config : shapes()) {
    for (const ParameterEntry& entry : parameter_entries(config)) {
      const bool is_bias = entry.full_name().ends_with(".bias");
      EXPECT_EQ(entry.split == Split::kWhole, !entry.is_matrix() && !is_bias) << entry.name;
    }
  }
  EXPECT_EQ(find_parameter("layers.11.attn.output_proj.weight")->split, Split::kColumns);
  EXPECT_EQ(find_parameter("ffn.w2")->split, Split::kColumns);
  EXPECT_EQ(find_parameter("layers.3.ffn.w2.bias"), nullptr);
  EXPECT_EQ(find_parameter("weight"), nullptr);
  EXPECT_EQ(find_parameter("layers.3.attn.k_proj.bias")->split, Split::kRows);
  EXPECT_TRUE(find_parameter("layers.3.attn.q_norm.weight")->is_of_each_head());
  EXPECT_FALSE(find_parameter("layers.3.ln1.weight")->is_of_each_head());
}

}  // namespace
}  // namespace headroom
