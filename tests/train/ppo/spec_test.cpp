#include "train/ppo/setup/spec.h"

#include <gtest/gtest.h>

#include <limits>

#include "text/quantity.h"

namespace headroom {
namespace {

std::string refusal_of_ppo(const PpoSpec& spec) {
  try {
    validate(spec);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(PpoSpec, TheDefaultsAreValid) { EXPECT_EQ(refusal_of_ppo({}), ""); }

TEST(PpoSpec, EverySettingOutOfItsRangeIsRefusedInOneLineThatNamesIt) {
  const std::vector<std::pair<std::string, PpoSpec>> wrong = {
      {"--prompts", {.prompts = 0}},
      {"--group-size", {.group_size = 0}},
      {"--group-size", {.algorithm = PpoAlgorithm::kGrpo}},
      {"--response-len", {.response_length = 0}},
      {"--temperature", {.temperature = 0}},
      {"--end-token", {.end_token = -2}},
      {"--kl-coef", {.kl_coef = -0.1}},
      {"--kl-coef", {.kl_coef = std::numeric_limits<double>::infinity()}},
      {"--gamma", {.gamma = 1.01}},
      {"--lambda", {.lambda = -0.01}},
      {"--clip", {.clip = 1}},
      {"--value-clip", {.value_clip = -1}},
      {"--value-coef", {.value_coef = -1}},
      {"--entropy-coef", {.entropy_coef = -1}},
      {"--epochs", {.epochs = 0}},
      {"--minibatches", {.minibatches = 0}},
      {"--minibatches", {.prompts = 4, .minibatches = 5}},
      {"--max-tokens-per-micro-batch", {.max_tokens_per_micro_batch = -1}},
      {"--chunk-tokens", {.chunk_tokens = 0}},
  };
  for (const auto& [flag, spec] : wrong) {
    const std::string line = refusal_of_ppo(spec);
    EXPECT_EQ(line.rfind(flag, 0), 0U) << flag << ": " << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

TEST(PpoSpec, WordsAreReadBackAsWhatTheyAreOf) {
  for (const std::string& word : choices_of<KlEstimator>()) {
    EXPECT_EQ(word_of(parse_word<KlEstimator>("--kl-estimator", word)), word);
  }
  for (const std::string& word : choices_of<LossAggregation>()) {
    EXPECT_EQ(word_of(parse_word<LossAggregation>("--loss-agg-mode", word)), word);
  }
  for (const std::string& word : choices_of<PpoAlgorithm>()) {
    EXPECT_EQ(word_of(parse_word<PpoAlgorithm>("--algorithm", word)), word);
  }
}

}  // namespace
}  // namespace headroom
