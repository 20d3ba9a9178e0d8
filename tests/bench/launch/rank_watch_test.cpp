#include "bench/launch/ranks/rank_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <utility>

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kSoon = std::chrono::seconds(60);
constexpr auto kSilence = std::chrono::milliseconds(20);

// The first line that a watch reports after `tell`.
template <typename Tell>
std::string first_line(int64_t ranks, const Tell& tell) {
  auto said = std::make_shared<std::promise<std::string>>();
  auto line = said->get_future();
  auto once = std::make_shared<bool>(false);
  RankWatch told(ranks, kSilence, [said, once](const std::string& text) {
    if (!std::exchange(*once, true)) said->set_value(text);
  });
  tell(told);
  return line.wait_for(kSoon) == std::future_status::ready ? line.get() : "nothing";
}

TEST(RankWatch, ASilentStartIsSaid) {
  EXPECT_THAT(first_line(2, [](RankWatch&) {}),
              HasSubstr("furthest behind are ranks 0, 1, at: starting"));
}

TEST(RankWatch, TheRankThatOthersWaitForIsNamedOnceNobodyMoves) {
  std::promise<std::string> said;
  auto line = said.get_future();
  bool is_set = false;
  RankWatch told(3, kSilence, [&](const std::string& text) {
    if (text.find("starting") == std::string::npos && !std::exchange(is_set, true))
      said.set_value(text);
  });
  told.ended(2);
  told.heard(1, {.stage = "measured", .step = 2, .steps = 9});
  told.heard(0, {.stage = "measured", .step = 3, .steps = 9});
  ASSERT_EQ(line.wait_for(kSoon), std::future_status::ready);
  const std::string text = line.get();
  EXPECT_THAT(text, StartsWith("no rank has begun anything for "));
  EXPECT_THAT(text, HasSubstr("furthest behind is rank 1, at: measured step 2"));
}

}  // namespace
}  // namespace headroom
