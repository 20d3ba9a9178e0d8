#include "profiling/theory/iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Four sequences of 96 tokens.
RunSpec small_run() {
  RunSpec spec;
  spec.model_size = "small";
  spec.layers = 6;
  spec.batch_size = 4;
  spec.context_length = 96;
  spec.prompt_len = 64;
  spec.response_len = 32;
  spec.temperature = 1;
  spec.device = parse_device("virtual:h100-80gb");
  return spec;
}

PpoSetup setup_of(const nlohmann::json& settings) { return ppo_setup_from_json(settings); }

std::vector<PhasePeak> peaks_of(const nlohmann::json& settings = nlohmann::json::object()) {
  return predicted_iteration(small_run(), setup_of(settings));
}

int64_t sum_of(const PhasePeak& peak) {
  int64_t bytes = 0;
  for (const auto& [component, of_component] : peak.components) bytes += of_component;
  return bytes;
}

TEST(PredictedIteration, PhasesComeInTheirOrderAndTheirComponentsSumToWhatIsRequested) {
  const std::vector<PhasePeak> peaks = peaks_of({{"reward_size", "small"}});
  ASSERT_EQ(peaks.size(), 3U);
  std::vector<std::string> names;
  for (const PhasePeak& peak : peaks) {
    names.push_back(peak.phase);
    EXPECT_EQ(sum_of(peak), peak.requested) << peak.phase;
    EXPECT_LE(peak.requested, peak.allocated) << peak.phase;
    EXPECT_LE(peak.allocated, peak.reserved) << peak.phase;
    EXPECT_GT(peak.components.at("reward parameters"), 0) << peak.phase;
  }
  EXPECT_THAT(names, ElementsAre("generation", "scoring", "training"));
}

TEST(PredictedIteration, TheCacheIsThereWhileTokensAreGeneratedAndNotAfterwards) {
  const std::vector<PhasePeak> peaks = peaks_of();
  // 2 * layers * sequences * tokens * heads * 64 FP32 numbers
  EXPECT_EQ(peaks[0].components.at("actor kv cache"), 2 * 6 * 4 * 96 * 12 * 64 * 4);
  EXPECT_FALSE(peaks[1].components.contains("actor kv cache"));
  EXPECT_FALSE(peaks[2].components.contains("actor kv cache"));
}

TEST(PredictedIteration, SwappedPhasesHoldWhatTheyNeed) {
  const std::vector<PhasePeak> all = peaks_of();
  const std::vector<PhasePeak> swapped = peaks_of({{"swap_phases", "true"}});
  EXPECT_FALSE(swapped[0].components.contains("critic parameters"));
  EXPECT_FALSE(swapped[0].components.contains("actor optimizer state"));
  EXPECT_FALSE(swapped[2].components.contains("reference parameters"));
  EXPECT_EQ(swapped[1].components.at("critic parameters"),
            all[1].components.at("critic parameters"));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_LT(swapped[i].allocated, all[i].allocated);
}

TEST(PredictedIteration, AnIterationWithoutACriticHasNoneOfIt) {
  for (const PhasePeak& peak : peaks_of({{"algorithm", "grpo"}, {"group_size", "2"}})) {
    for (const auto& [component, bytes] : peak.components) {
      EXPECT_EQ(component.find("critic"), std::string::npos) << component;
    }
  }
}

TEST(NotRehearsed, NamesTheFlagsThatAreNotFollowed) {
  RunSpec spec = small_run();
  EXPECT_THAT(not_rehearsed(spec, PpoSetup()), IsEmpty());
  spec.top_k = 5;
  spec.alloc_conf = "max_split_size_mb:64";
  EXPECT_THAT(not_rehearsed(spec, PpoSetup()), ElementsAre("--top-k", "--alloc-conf"));
}

}  // namespace
}  // namespace headroom
