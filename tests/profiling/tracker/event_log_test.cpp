#include "profiling/tracker/event_log.h"

#include <gtest/gtest.h>

#include <thread>

namespace headroom {
namespace {

TEST(EventLog, HoldsWhatCameBetweenStartAndStopAndNothingElse) {
  EventLog log;
  log.add({.address = 1});
  log.mark("early", true);
  log.start({{.address = 7, .size = 70}});
  log.add({.address = 2, .size = 20});
  log.mark("forward", true);
  log.add({.address = 3, .size = 30});
  EXPECT_EQ(log.size(), 2);
  const Recording recording = log.stop();
  log.add({.address = 4});
  ASSERT_EQ(recording.live_at_start.size(), 1);
  EXPECT_EQ(recording.live_at_start[0].size, 70);
  ASSERT_EQ(recording.events.size(), 2);
  EXPECT_EQ(recording.events[1].event.address, 3);
  EXPECT_GT(recording.events[1].event.time_us, 0);
  ASSERT_EQ(recording.marks.size(), 1);
  EXPECT_EQ(recording.marks[0].name, "forward");
  EXPECT_EQ(recording.marks[0].event_index, 1);
  EXPECT_EQ(log.size(), 0);
  log.start({});
  EXPECT_TRUE(log.stop().events.empty()) << "a second recording starts empty";
}

TEST(EventLog, AHintIsOfTheThreadThatGaveIt) {
  EventLog log;
  log.start({});
  set_thread_hint(Hint::kCastOfParameter);
  log.add({});
  std::thread([&] { log.add({}); }).join();
  set_thread_hint(Hint::kNone);
  const Recording recording = log.stop();
  ASSERT_EQ(recording.events.size(), 2);
  EXPECT_EQ(recording.events[0].hint, Hint::kCastOfParameter);
  EXPECT_EQ(recording.events[1].hint, Hint::kNone);
}

}  // namespace
}  // namespace headroom
