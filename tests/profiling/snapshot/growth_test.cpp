#include "profiling/snapshot/analysis/growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kAlloc = TraceAction::kAlloc;
constexpr auto kFree = TraceAction::kFreeCompleted;

TraceEvent grown_event(TraceAction action, uint64_t address, int64_t size, int64_t time_us,
                       int32_t stack = -1) {
  return {.action = action, .address = address, .size = size, .time_us = time_us, .stack = stack};
}

// Three steps of two forwards each, at 100, 200 and 300. Every step keeps 8 bytes twice and frees
// the 64 left by the previous one.
Snapshot steps() {
  Snapshot s;
  s.frames = {{"headroom::log(at::Tensor)", "/x/train/log.cpp", 7},
              {"headroom::Step::run()", "/x/train/step.cpp", 9}};
  s.stacks = {{0, 1}, {1}};
  s.labels = {"gradients: w"};
  auto& trace = s.device_traces.emplace_back();
  for (int64_t step = 0; step < 3; ++step) {
    const int64_t at = 100 * (step + 1);
    const auto address = static_cast<uint64_t>(0x1000 * (step + 1));
    s.annotations.insert(s.annotations.end(), {{"forward", true, 0, at},
                                               {"forward", false, 0, at + 10},
                                               {"forward", true, 0, at + 20},
                                               {"forward", false, 0, at + 30}});
    if (step > 0) trace.push_back(grown_event(kFree, address - 0x1000 + 0x100, 64, at + 1));
    trace.push_back(grown_event(kAlloc, address + 0x100, 64, at + 2, 1));
    trace.push_back(grown_event(kAlloc, address + 0x200, 8, at + 3, 0));
    trace.push_back(grown_event(kAlloc, address + 0x300, 8, at + 25, 0));
  }
  return s;
}

TEST(Growth, IsWhatTheStepsAfterItDoNotTakeAway) {
  const std::vector<Growth> places = growth_of(steps(), 0, 3);
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0].bytes, 16) << "of one step, both of its forwards";
  EXPECT_EQ(places[0].count, 2);
  EXPECT_EQ(places[0].phase, "forward");
  EXPECT_THAT(places[0].stack, ElementsAre("train/log.cpp:7 log", "train/step.cpp:9 Step::run"));
}

TEST(Growth, SaysWhatItIsForAndBeginsWithTheLargest) {
  Snapshot s = steps();
  s.device_traces[0][0].label = 0;
  std::erase_if(s.device_traces[0], [](const TraceEvent& e) { return e.action == kFree; });
  const std::vector<Growth> places = growth_of(s, 0, 3);
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].bytes, 64);
  EXPECT_EQ(places[0].purpose, "gradients");
  EXPECT_EQ(places[1].bytes, 16);
}

TEST(Growth, OneStepOrNoPhasesSayNothing) {
  EXPECT_THAT(growth_of(steps(), 0, 1), IsEmpty());
  EXPECT_THAT(growth_of(steps(), 5, 3), IsEmpty());
  Snapshot s = steps();
  s.annotations.clear();
  EXPECT_THAT(growth_of(s, 0, 3), IsEmpty());
}

}  // namespace
}  // namespace headroom
