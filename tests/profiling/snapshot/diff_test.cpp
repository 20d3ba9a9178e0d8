#include "profiling/snapshot/analysis/diff.h"

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

Snapshot trace_of(const std::vector<std::pair<TraceAction, int64_t>>& events) {
  Snapshot snapshot;
  snapshot.device_traces.emplace_back();
  for (const auto& [action, size] : events) {
    TraceEvent event;
    event.action = action;
    event.size = size;
    snapshot.device_traces[0].push_back(event);
  }
  return snapshot;
}

TEST(SnapshotDiff, FreesInARowHaveNoOrder) {
  using enum TraceAction;
  const Snapshot a = trace_of({{kAlloc, 1},
                               {kFreeRequested, 512},
                               {kFreeCompleted, 512},
                               {kFreeRequested, 1024},
                               {kFreeCompleted, 1024},
                               {kAlloc, 2}});
  const Snapshot b = trace_of({{kAlloc, 1},
                               {kFreeRequested, 1024},
                               {kFreeCompleted, 1024},
                               {kFreeRequested, 512},
                               {kFreeCompleted, 512},
                               {kAlloc, 2}});
  EXPECT_TRUE(diff_snapshots(a, b).same());
  EXPECT_TRUE(diff_snapshots(a, b).frees_in_another_order);
  EXPECT_FALSE(diff_snapshots(a, a).frees_in_another_order);
  const Snapshot after_the_alloc = trace_of({{kAlloc, 1},
                                             {kFreeRequested, 512},
                                             {kFreeCompleted, 512},
                                             {kAlloc, 2},
                                             {kFreeRequested, 1024},
                                             {kFreeCompleted, 1024}});
  EXPECT_EQ(diff_snapshots(a, after_the_alloc).first_difference, 3);
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
