#include "profiling/tracker/event_log.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(EventLog, HoldsWhatCameBetweenStartAndStopAndNothingElse) {
  EventLog log;
  log.add({.address = 1});
  log.mark({ScopeKind::kPhase, "early"}, true);
  log.start({{.address = 7, .size = 70}});
  log.add({.address = 2, .size = 20});
  log.mark(Scope::block(3), true);
  log.add({.address = 3, .size = 30});
  EXPECT_EQ(log.size(), 2);
  const Recording recording = log.stop();
  log.add({.address = 4});
  ASSERT_EQ(recording.live_at_start.size(), 1);
  EXPECT_EQ(recording.live_at_start[0].size, 70);
  ASSERT_EQ(recording.events.size(), 2);
  EXPECT_EQ(recording.events[1].address, 3);
  EXPECT_GT(recording.events[1].time_us, 0);
  ASSERT_EQ(recording.marks.size(), 1);
  EXPECT_EQ(recording.marks[0].scope.index, 3);
  EXPECT_EQ(recording.marks[0].event_index, 1);
  EXPECT_EQ(log.size(), 0);
  log.start({});
  EXPECT_TRUE(log.stop().events.empty()) << "a second recording starts empty";
}

TEST(EventLog, ItsMarksBecomeAnnotationsThatSayWhichBlock) {
  EventLog log;
  log.start({});
  log.mark({ScopeKind::kSaving, "forward"}, true);
  log.mark(Scope::block(3), true);
  log.mark(Scope::block(3), false);
  Snapshot snapshot;
  annotate(snapshot, log.stop().marks, 1);
  ASSERT_EQ(snapshot.annotations.size(), 3);
  EXPECT_EQ(snapshot.annotations[0].name, "forward");
  EXPECT_EQ(snapshot.annotations[1].name, "block 3");
  EXPECT_TRUE(snapshot.annotations[1].is_start);
  EXPECT_FALSE(snapshot.annotations[2].is_start);
  EXPECT_EQ(snapshot.annotations[2].device, 1);
}

}  // namespace
}  // namespace headroom
