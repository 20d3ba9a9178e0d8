// The words of techniques, and what each of them is said to cost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "text/quantity.h"
#include "train/vocabulary/checkpoint.h"
#include "train/vocabulary/element_type.h"
#include "train/vocabulary/offload.h"
#include "train/vocabulary/weights.h"

namespace headroom {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Enum>
class Vocabulary : public ::testing::Test {};
using Enums = ::testing::Types<Checkpoint, ElementType, Place>;
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
  EXPECT_THAT(choices_of<Place>(), ElementsAre("none", "cpu", "nvme"));
}

TEST(ElementType, HasTheBytesOfItsName) {
  for (const EnumWord<ElementType>& known : words_of(ElementType{})) {
    const std::string& word = known.word;
    EXPECT_THAT(word, HasSubstr(std::to_string(8 * bytes_of(known.value))));
  }
}

// Weights, gradients, master weights and two moments; autocast's casts come and go.
TEST(StatePrecision, TheLineSaysTheBytesPerParameterOfTheColumns) {
  for (const StatePrecision& known : state_precisions()) {
    const int64_t bytes = known.weight + known.gradient + known.master + 2 * known.moment;
    const std::string said = ": " + std::to_string(bytes) +
                             (known.cast > 0 ? " + " + std::to_string(known.cast) : "") +
                             " bytes per parameter";
    EXPECT_THAT(known.in_words, HasSubstr(said));
    EXPECT_EQ(find_state_precision(known.name).name, known.name);
  }
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
