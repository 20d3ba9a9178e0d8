#include "model/config.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "model/parameter_table.h"

namespace headroom {
namespace {

TEST(Config, ParameterCountsEqualThePublishedTable) {
  const std::vector<std::pair<std::string, int64_t>> expected = {
      {"small", 128'625'408}, {"medium", 423'183'360}, {"large", 969'411'840},
      {"xl", 1'998'235'200},  {"2.7B", 3'406'809'600}, {"10B", 12'832'823'808},
  };
  for (const auto& [name, count] : expected) {
    ASSERT_NE(find_config(name), nullptr) << name;
    EXPECT_EQ(parameter_count(*find_config(name)), count) << name;
  }
}

TEST(Config, LlamaShapesCarryTheirGroupedQueryHeads) {
  // Meta's own counts at a vocabulary of 128,256 are 70,553,706,496 and 405,853,388,800: ours at
  // 128,000 are 2 * 256 * d_model lower.
  EXPECT_EQ(parameter_count(*find_config("70b")), 70'553'706'496 - 2 * 256 * 8192);
  EXPECT_EQ(parameter_count(*find_config("405b")), 405'853'388'800 - 2 * 256 * 16384);
  EXPECT_EQ(find_config("70b")->kv_heads, 8);
  // Llama-2's own counts at a vocabulary of 32,000 are 6,738,415,616 and 13,015,864,320.
  EXPECT_EQ(parameter_count(*find_config("7b")), 6'738'415'616 + 2 * 96000 * 4096);
  EXPECT_EQ(parameter_count(*find_config("13b")), 13'015'864'320 + 2 * 96000 * 5120);
}

TEST(Config, RefusesDimensionsThatDoNotFit) {
  ModelConfig config = *find_config("small");
  config.heads = 7;
  EXPECT_THROW(validate(config), std::invalid_argument);
  config = *find_config("small");
  config.heads = 256;  // head dimension 3
  config.kv_heads = 256;
  EXPECT_THROW(validate(config), std::invalid_argument);
  config = *find_config("small");
  config.kv_heads = 5;
  EXPECT_THROW(validate(config), std::invalid_argument);
  config = *find_config("small");
  config.layers = 0;
  EXPECT_THROW(validate(config), std::invalid_argument);
}

TEST(Config, AHeadOfOneOutputHasOneRow) {
  ModelConfig config = *find_config("small");
  EXPECT_EQ(config.head_outputs(), 10000);
  config.outputs = 1;
  EXPECT_EQ(config.head_outputs(), 1);
  EXPECT_EQ(parameter_count(config), 128'625'408 - (10000 - 1) * 768);
  validate(config);
  config.outputs = -1;
  EXPECT_THROW(validate(config), std::invalid_argument);
}

}  // namespace
}  // namespace headroom
