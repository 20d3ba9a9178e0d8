// The words of techniques, and their stated costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "text/quantity.h"
#include "train/settings/vocabulary/checkpoint.h"
#include "train/settings/vocabulary/element_type.h"
#include "train/settings/vocabulary/kernels.h"
#include "train/settings/vocabulary/mode.h"
#include "train/settings/vocabulary/offload.h"
#include "train/settings/vocabulary/weights.h"

namespace headroom {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Enum>
class Vocabulary : public ::testing::Test {};
using Enums = ::testing::Types<Attention, CheckpointKind, ElementType, MemorySpace, Mode,
                               OptimizerImpl, OptimizerKind, Precision>;
TYPED_TEST_SUITE(Vocabulary, Enums);

TYPED_TEST(Vocabulary, EachWordIsOneValuesAndReadsBackAsIt) {
  std::set<std::string> words;
  for (const EnumWord<TypeParam>& known : words_of(TypeParam{})) {
    EXPECT_EQ(to_string(known.value), known.word);
    EXPECT_EQ(parse_word<TypeParam>("--flag", known.word), known.value);
    EXPECT_TRUE(words.insert(known.word).second) << known.word << " twice";
  }
}

TYPED_TEST(Vocabulary, TheListIsInTheOrderOfTheValues) {
  int next = 0;
  for (const EnumWord<TypeParam>& known : words_of(TypeParam{})) {
    EXPECT_EQ(static_cast<int>(known.value), next++) << known.word;
  }
}

std::string refusal_of_checkpoint(const std::string& checkpoint, int64_t layers) {
  try {
    check_checkpoint(parse_checkpoint("--recompute", checkpoint), layers);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Checkpoint, EverySettingIsPrintedAsItIsTyped) {
  for (const char* word : {"none", "selective", "full", "every:1", "every:4", "blocks:0%",
                           "blocks:50%", "blocks:100%"}) {
    EXPECT_EQ(to_string(parse_checkpoint("--recompute", word)), word);
  }
  EXPECT_EQ(parse_checkpoint("--recompute", "every:4"), (Checkpoint{CheckpointKind::kEvery, 4}));
}

TEST(Checkpoint, WhatIsNoSettingIsRefusedInOneLineWithWhatIsAllowed) {
  EXPECT_THAT(refusal_of_checkpoint("ful", 12), HasSubstr("did you mean full?"));
  for (const char* word : {"every:0", "every:", "every:-1", "every:2x"}) {
    EXPECT_THAT(refusal_of_checkpoint(word, 12),
                HasSubstr(std::string("--recompute: '") + word + "' is no number of blocks"));
  }
  for (const char* word : {"blocks:101%", "blocks:50", "blocks:%", "blocks:-1%", "blocks:5.5%"}) {
    EXPECT_THAT(refusal_of_checkpoint(word, 12),
                HasSubstr("is no percentage; allowed: blocks:0% to"));
  }
  EXPECT_EQ(refusal_of_checkpoint("every:12", 12), "accepted");
  EXPECT_EQ(refusal_of_checkpoint("every:13", 12),
            "--recompute: 'every:13' is more than the model's 12 blocks; allowed: every:1 to "
            "every:12 (example: --recompute every:2)");
}

// "0-2r 2-3r": recomputed [0, 2), then [2, 3).
std::string groups_in_words(const std::string& checkpoint, int64_t layers) {
  std::vector<std::string> words;
  for (const BlockGroup& group :
       block_groups(parse_checkpoint("--recompute", checkpoint), layers)) {
    words.push_back(std::to_string(group.first) + "-" + std::to_string(group.end) +
                    (group.recomputed ? "r" : ""));
  }
  return join(words, " ");
}

TEST(Checkpoint, GroupsCoverAllBlocksInTheirOrder) {
  EXPECT_EQ(groups_in_words("none", 3), "0-3");
  EXPECT_EQ(groups_in_words("selective", 3), "0-3");
  EXPECT_EQ(groups_in_words("full", 3), "0-1r 1-2r 2-3r");
  EXPECT_EQ(groups_in_words("every:2", 5), "0-2r 2-4r 4-5r");
  EXPECT_EQ(groups_in_words("every:5", 5), "0-5r");
}

// The guide's loop checkpoints the blocks with i % 2 == 0.
TEST(Checkpoint, APercentageIsSpreadEvenlyAndHalfIsEveryOtherBlock) {
  EXPECT_EQ(groups_in_words("blocks:50%", 4), "0-1r 1-2 2-3r 3-4");
  EXPECT_EQ(groups_in_words("blocks:50%", 5), "0-1r 1-2 2-3r 3-4 4-5r");
  EXPECT_EQ(groups_in_words("blocks:0%", 4), "0-4");
  EXPECT_EQ(groups_in_words("blocks:100%", 3), groups_in_words("full", 3));
  EXPECT_EQ(groups_in_words("blocks:25%", 8), "0-1r 1-4 4-5r 5-8");
  for (int64_t layers = 1; layers <= 13; ++layers) {
    for (int64_t percent = 0; percent <= 100; ++percent) {
      int64_t end = 0;
      int64_t recomputed = 0;
      for (const BlockGroup& group : block_groups({CheckpointKind::kBlocks, percent}, layers)) {
        ASSERT_EQ(group.first, end);
        ASSERT_TRUE(!group.recomputed || group.count() == 1);
        end = group.end;
        recomputed += group.recomputed ? 1 : 0;
      }
      ASSERT_EQ(end, layers);
      ASSERT_EQ(recomputed, (2 * percent * layers + 100) / 200);
    }
  }
}

TEST(Offload, TheWordsSayWhatItGoesTo) {
  std::vector<std::string> words;
  for (const EnumWord<MemorySpace>& known : offload_words()) words.push_back(known.word);
  EXPECT_THAT(words, ElementsAre("none", "cpu", "nvme"));
  EXPECT_EQ(words.size(), words_of(MemorySpace{}).size());
}

TEST(Offload, EverySettingIsPrintedAsItIsTyped) {
  for (const char* text : {"none", "cpu", "nvme:/tmp", "nvme:.", "nvme:/mnt/a=b:c,keep"}) {
    EXPECT_EQ(to_string(parse_offload("--optimizer-offload", text)), text);
  }
  EXPECT_FALSE(parse_offload("--optimizer-offload", "none").any());
  EXPECT_EQ(parse_offload("--optimizer-offload", "cpu").space, MemorySpace::kHost);
  EXPECT_EQ(parse_offload("--optimizer-offload", "nvme:/tmp").space, MemorySpace::kDisk);
}

TEST(Offload, APlaceOnADiskIsADirectoryWhoseFilesStayOrNot) {
  const auto place = [](const char* text) { return parse_offload("--optimizer-offload", text); };
  EXPECT_EQ(place("nvme:/mnt/a").directory, "/mnt/a");
  EXPECT_FALSE(place("nvme:/mnt/a").keep);
  EXPECT_EQ(place("nvme:/mnt/a,keep").directory, "/mnt/a");
  EXPECT_TRUE(place("nvme:/mnt/a,keep").keep);
}

std::string refusal_of_offload(const char* text) {
  try {
    parse_offload("--optimizer-offload", text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Offload, WhatIsNoSettingIsRefusedInOneLineWithWhatIsAllowed) {
  for (const char* text : {"", "disk", "CPU", "cpu:/tmp", "nvm:/tmp"}) {
    EXPECT_THAT(refusal_of_offload(text),
                HasSubstr("is unknown; allowed: none, cpu, nvme:DIR, nvme:DIR,keep"));
  }
  for (const char* text : {"nvme", "nvme:", "nvme:,keep"}) {
    EXPECT_THAT(refusal_of_offload(text), HasSubstr("names no directory; allowed: none, cpu, "));
  }
  for (const char* text : {"nvme:/a,keeep", "nvme:/a,", "nvme:/a,b,keep", "nvme:/a,keep,keep"}) {
    EXPECT_THAT(refusal_of_offload(text), HasSubstr("has the unknown option '"));
  }
}

TEST(Offload, OfParametersNoFileIsKept) {
  EXPECT_EQ(parse_offload("--param-offload", "nvme:/a").directory, "/a");
  for (const char* text : {"nvme:/a,keep", "nvme:/a,b"}) {
    try {
      parse_offload("--param-offload", text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("allowed behind the directory: nothing, and no comma"));
    }
  }
}

TEST(ElementType, HasTheBytesOfItsName) {
  for (const EnumWord<ElementType>& known : words_of(ElementType{})) {
    const std::string& word = known.word;
    EXPECT_THAT(word, HasSubstr(std::to_string(8 * bytes_of(known.value))));
  }
}

TEST(StatePrecision, SaysItsBytesPerParameterUnderAnOptimizer) {
  const auto said = [](const char* name, OptimizerKind optimizer) {
    return states_in_words(find_state_precision(name), optimizer);
  };
  EXPECT_EQ(said("bf16-mixed", OptimizerKind::kAdamw),
            "BF16 weights and gradients, FP32 master weights and moments: 16 bytes per parameter");
  EXPECT_THAT(said("bf16-fp32-grads", OptimizerKind::kAdamw), HasSubstr(": 18 bytes"));
  EXPECT_THAT(said("bf16-pure", OptimizerKind::kAdamw), HasSubstr(": 8 bytes"));
  EXPECT_THAT(said("bf16", OptimizerKind::kAdamw), HasSubstr(": 16 + 2 bytes"));
  EXPECT_THAT(said("fp32", OptimizerKind::kAdamw), HasSubstr(": 16 bytes"));
  // A byte and a share of a scale, twice.
  EXPECT_THAT(said("bf16-mixed", OptimizerKind::kAdam8bit), HasSubstr(": 10.03 bytes"));
  EXPECT_THAT(said("bf16-mixed", OptimizerKind::kLion), HasSubstr(": 12 bytes"));
  EXPECT_THAT(said("fp32", OptimizerKind::kAdamMini), HasSubstr(": 12 bytes"));
}

TEST(StatePrecision, OfARunIsThatOfThePlans) {
  for (const auto& known : words_of(Precision{})) {
    EXPECT_EQ(state_precision(known.value, WeightType::kFp32, MasterCopy::kNone).name, known.word);
  }
  const auto of_bf16 = [](MasterCopy master) {
    return state_precision(Precision::kFp32, WeightType::kBf16, master).name;
  };
  EXPECT_EQ(of_bf16(MasterCopy::kNone), "bf16-pure");
  EXPECT_EQ(of_bf16(MasterCopy::kFp32), "bf16-mixed");
}

TEST(StatePrecision, AnUnknownOneIsRefusedWithTheNearest) {
  try {
    find_state_precision("bf16-mixd");
    FAIL() << "taken";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("did you mean bf16-mixed?"));
  }
}

}  // namespace
}  // namespace headroom
