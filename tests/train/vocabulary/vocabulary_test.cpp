// The words of techniques, and what each of them is said to cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "text/quantity.h"
#include "train/vocabulary/checkpoint.h"
#include "train/vocabulary/element_type.h"
#include "train/vocabulary/kernels.h"
#include "train/vocabulary/mode.h"
#include "train/vocabulary/offload.h"
#include "train/vocabulary/weights.h"

namespace headroom {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Enum>
class Vocabulary : public ::testing::Test {};
using Enums = ::testing::Types<Attention, Checkpoint, ElementType, MemorySpace, Mode, OptimizerImpl,
                               OptimizerKind, Precision>;
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

TEST(Checkpoint, EachKindKeepsLessThanTheOneBeforeAndFullTheOutputAlone) {
  const auto kept = [](Checkpoint checkpoint) {
    std::vector<BlockPart> parts;
    for (const BlockPart part : kBlockParts) {
      if (keeps(checkpoint, part)) parts.push_back(part);
    }
    return parts;
  };
  EXPECT_EQ(kept(Checkpoint::kNone).size(), kBlockParts.size());
  EXPECT_THAT(kept(Checkpoint::kSelective), ElementsAre(BlockPart::kOutput, BlockPart::kOther));
  EXPECT_THAT(kept(Checkpoint::kFull), ElementsAre(BlockPart::kOutput));
}

TEST(Checkpoint, TheWordsAreThoseOfTheFlag) {
  EXPECT_THAT(choices_of<Checkpoint>(), ElementsAre("none", "selective", "full"));
}

TEST(Offload, TheWordsSayWhatItGoesTo) {
  std::vector<std::string> words;
  for (const EnumWord<MemorySpace>& known : offload_words()) words.push_back(known.word);
  EXPECT_THAT(words, ElementsAre("none", "cpu", "nvme"));
  EXPECT_EQ(words.size(), words_of(MemorySpace{}).size());
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
  // A byte and a scale's part of one, twice.
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
