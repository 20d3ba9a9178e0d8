#include "profiling/snapshot/diff.h"

#include <gtest/gtest.h>

#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

TEST(SnapshotDiff, TheSameRunElsewhereIsTheSame) {
  const Snapshot a = make_sample(2000).snapshot;
  Snapshot b = a;
  for (auto& trace : b.device_traces) {
    for (TraceEvent& event : trace) {
      event.time_us += 12345;
      if (event.action != TraceAction::kOom) event.address += 1 << 20;
    }
  }
  const SnapshotDiff diff = diff_snapshots(a, b);
  EXPECT_TRUE(diff.same());
  EXPECT_FALSE(diff.first_difference);
  EXPECT_EQ(diff.a.events, diff.b.events);
  EXPECT_GT(diff.a.reserved_bytes, 0);
}

TEST(SnapshotDiff, NamesTheFirstEventThatDiffers) {
  const Snapshot a = make_sample(2000).snapshot;
  Snapshot b = a;
  b.device_traces[0][700].size += 512;
  b.device_traces[0][900].size += 512;
  const SnapshotDiff diff = diff_snapshots(a, b);
  EXPECT_FALSE(diff.same());
  EXPECT_EQ(diff.first_difference, 700);
  EXPECT_NE(diff.event_a, diff.event_b);
}

TEST(SnapshotDiff, AShorterTraceEndsInNothing) {
  const Snapshot a = make_sample(500).snapshot;
  Snapshot b = a;
  b.device_traces[0].pop_back();
  const SnapshotDiff diff = diff_snapshots(a, b);
  EXPECT_EQ(diff.first_difference, static_cast<int64_t>(b.device_traces[0].size()));
  EXPECT_EQ(diff.event_b, "nothing");
}

TEST(SnapshotDiff, SegmentsCountWhereTheEventsAgree) {
  const Snapshot a = make_sample(500).snapshot;
  Snapshot b = a;
  b.segments.pop_back();
  EXPECT_FALSE(diff_snapshots(a, b).same());
  EXPECT_FALSE(diff_snapshots(a, b).first_difference);
}

}  // namespace
}  // namespace headroom
