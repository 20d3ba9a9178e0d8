#include "text/enum_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/quantity.h"

namespace headroom {
namespace {

using ::testing::ElementsAre;

enum class Colour { kRed, kBlue };

const EnumWords<Colour>& words_of(Colour) {
  static const EnumWords<Colour> kWords = {{Colour::kRed, "red", "as a rose"},
                                           {Colour::kBlue, "blue"}};
  return kWords;
}

TEST(EnumWords, EveryValueIsReadBackFromItsWord) {
  for (const Colour colour : {Colour::kRed, Colour::kBlue}) {
    EXPECT_EQ(parse_word<Colour>("--colour", word_of(colour)), colour);
  }
  EXPECT_THAT(choices_of<Colour>(), ElementsAre("red", "blue"));
}

TEST(EnumWords, AMeaningIsTheValues) {
  EXPECT_EQ(meaning_of(Colour::kRed), "as a rose");
  EXPECT_EQ(meaning_of(Colour::kBlue), "");
}

TEST(EnumWords, ANumberThatIsNoValueHasNoWord) { EXPECT_EQ(word_of(static_cast<Colour>(7)), "?"); }

TEST(EnumWords, AnUnknownWordIsRefusedWithTheNearestAndAll) {
  try {
    parse_word<Colour>("--colour", "bleu");
    FAIL() << "taken";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "--colour: 'bleu' is unknown; allowed: red, blue; did you mean blue? "
                 "(example: --colour red)");
  }
}

}  // namespace
}  // namespace headroom
