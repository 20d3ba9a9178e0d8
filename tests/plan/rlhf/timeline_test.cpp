#include "plan/rlhf/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/plan/rlhf/small_plan.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

RlhfPlan plan(bool swap) {
  RlhfSpec spec = small_plan();
  spec.setup.swap_phases = swap;
  return RlhfPlan(spec);
}

KindBytes weights(int64_t bytes) {
  KindBytes instant{};
  instant.at(static_cast<size_t>(ComponentKind::kWeights)) = bytes;
  return instant;
}

TEST(Timeline, HasThePhasesWithASwapBetweenThem) {
  const RlhfPlan one = plan(false);
  const Timeline drawn = timeline(one);
  ASSERT_EQ(drawn.stretches.size(), 5U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(drawn.stretches[2 * i].name, to_string(kRlhfPhases.at(i)));
    EXPECT_EQ(drawn.stretches[2 * i].total(), one.worst.phase_bytes(kRlhfPhases.at(i), false));
  }
}

TEST(Timeline, ASwapHoldsNoMoreThanTheTwoPhasesBesideIt) {
  for (const bool swap : {false, true}) {
    const Timeline drawn = timeline(plan(swap));
    for (size_t i = 1; i < drawn.stretches.size(); i += 2) {
      const int64_t least =
          std::min(drawn.stretches[i - 1].total(), drawn.stretches[i + 1].total());
      EXPECT_LE(drawn.stretches[i].total(), least);
      EXPECT_GT(drawn.stretches[i].total(), 0) << "the actor stays";
    }
  }
}

TEST(Drawing, IsPlainAsciiWhenAskedAndColouredOnlyWhenAsked) {
  const Timeline drawn = timeline(plan(true));
  const std::string plain = drawing(drawn, {.ascii = true});
  EXPECT_TRUE(std::all_of(plain.begin(), plain.end(), [](char c) {
    return c == '\n' ||
           (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f);
  })) << plain;
  EXPECT_THAT(drawing(drawn, {.ascii = false}), Not(HasSubstr("\033")));
  EXPECT_THAT(drawing(drawn, {.colour = true}), HasSubstr("\033[34m"));
  EXPECT_THAT(plain, HasSubstr("legend:  W weights"));
}

// A column's height is its bytes: weights of half the GPU's memory fill half of the rows.
TEST(Drawing, IsToScale) {
  const Timeline half{.stretches = {{.name = "training", .instants = {weights(800)}}},
                      .available = 1600};
  const std::string text = drawing(half, {.ascii = true});
  EXPECT_EQ(
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find('+')), 'W'),
      8 * 18);
  EXPECT_THAT(text, HasSubstr("1.562 KiB|------------------<")) << "where the GPU's memory ends";
}

// Two instants share a stretch's 18 columns; their heights are not averaged.
TEST(Drawing, HasAnInstantBesideTheOtherAndALevelAcross) {
  const Timeline drawn{
      .title = "measured",
      .stretches = {{.name = "training", .instants = {weights(800), weights(1600)}, .level = 1600}},
      .level = "computed"};
  const std::string text = drawing(drawn, {.ascii = true});
  EXPECT_THAT(text, HasSubstr("measured\n"));
  EXPECT_THAT(text, HasSubstr("|==================|")) << "at the top row";
  EXPECT_THAT(text, HasSubstr("|         WWWWWWWWW|")) << "the second instant alone";
  EXPECT_THAT(text, HasSubstr("|WWWWWWWWWWWWWWWWWW|"));
  EXPECT_THAT(text, HasSubstr("= computed"));
  EXPECT_THAT(text, Not(HasSubstr("GPU's memory"))) << "there is no limit";
}

TEST(Svg, IsSelfContainedAndEscapesEveryText) {
  const std::string text = svg(timeline(plan(true)), "a <b> & \"c\" \001");
  EXPECT_THAT(text, HasSubstr("a &lt;b&gt; &amp; &quot;c&quot;  "));
  EXPECT_THAT(text, Not(HasSubstr("<b>")));
  for (const char* reference : {"<script", "href", "url(", "@import", "<image"}) {
    EXPECT_THAT(text, Not(HasSubstr(reference)));
  }
  EXPECT_EQ(text.find("http"), text.rfind("http")) << "the namespace's name and no other address";
}

}  // namespace
}  // namespace headroom
