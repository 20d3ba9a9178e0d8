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

TEST(ParameterTable, ListsTheNamesAndSizesOfTheModel) {
  ModelConfig config = tiny();
  EXPECT_EQ(listed(config), built(config));
  EXPECT_EQ(parameter_table(config).size(), listed(config).size());
  config.outputs = 1;
  EXPECT_EQ(listed(config), built(config));
}

TEST(ParameterTable, CountsWhatTheModelHolds) {
  const ModelConfig config = tiny();
  int64_t count = 0;
  for (const auto& [name, sizes] : built(config)) {
    int64_t elements = 1;
    for (const int64_t size : sizes) elements *= size;
    count += elements;
  }
  EXPECT_EQ(parameter_count(config), count);
}

// Every split layer ends with a split by columns, where the ranks add their products.
TEST(ParameterTable, SplitsMatricesAndLeavesNormsWhole) {
  for (const ParameterEntry& entry : parameter_entries(tiny())) {
    EXPECT_EQ(entry.split == Split::kWhole, !entry.is_matrix()) << entry.name;
  }
  EXPECT_EQ(find_parameter("layers.11.attn.output_proj.weight")->split, Split::kColumns);
  EXPECT_EQ(find_parameter("ffn.w2")->split, Split::kColumns);
  EXPECT_EQ(find_parameter("layers.3.ffn.w2.bias"), nullptr);
  EXPECT_EQ(find_parameter("weight"), nullptr);
}

}  // namespace
}  // namespace headroom
