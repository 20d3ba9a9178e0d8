#include "profiling/report/page/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "profiling/report/page/columns.h"
#include "profiling/snapshot/analysis/live_blocks.h"
#include "profiling/snapshot/analysis/reserved_ranges.h"
#include "profiling/snapshot/analysis/top.h"
#include "tests/profiling/report/page/unpacked.h"
#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

using testing::ElementsAre;

int64_t reserved_at_the_end(const Snapshot& snapshot, int64_t device) {
  int64_t bytes = 0;
  for (const Segment& segment : snapshot.segments) {
    if (segment.device == device) bytes += segment.total_size;
  }
  return bytes;
}

TEST(PageHistory, UnpacksToTheLiveBytesAfterEachEvent) {
  const Snapshot snapshot = make_sample(20000).snapshot;
  const UnpackedHistory history = unpacked(history_of(snapshot, 0).packed);
  TracedBlocks live = live_before(snapshot, 0);
  int64_t bytes = bytes_of(live);
  const auto& trace = snapshot.device_traces[0];
  ASSERT_EQ(history.live.size(), trace.size() + 1);
  EXPECT_EQ(history.live[0], bytes);
  for (size_t i = 0; i < trace.size(); ++i) {
    bytes += apply(trace[i], live);
    ASSERT_EQ(history.live[i + 1], bytes) << "after event " << i;
    ASSERT_EQ(history.time_us[i], trace[i].time_us - trace[0].time_us) << "event " << i;
  }
}

TEST(PageHistory, ThePeakIsThatOfSnapshotTop) {
  const SnapshotSample sample = make_sample(20000);
  const DeviceHistory history = history_of(sample.snapshot, 0);
  EXPECT_EQ(history.peak_bytes, sample.peak_bytes);
  const PeakReport top = largest_allocations(sample.snapshot, 1);
  EXPECT_EQ(history.peak_bytes, top.peak_bytes);
  EXPECT_EQ(history.peak_event, top.event);
  EXPECT_EQ(history.before_bytes, unpacked(history.packed).live[0]);
  const auto live = unpacked(history.packed).live;
  EXPECT_EQ(*std::max_element(live.begin(), live.end()), history.peak_bytes);
}

TEST(PageHistory, ReservedMemoryEndsWithTheFinalSegments) {
  const Snapshot snapshot = make_sample(20000).snapshot;
  const DeviceHistory history = history_of(snapshot, 0);
  const auto reserved = unpacked(history.packed).reserved;
  EXPECT_EQ(reserved.back(), reserved_at_the_end(snapshot, 0));
  EXPECT_GT(reserved.back(), reserved.front());
  EXPECT_EQ(history.peak_reserved_bytes, *std::max_element(reserved.begin(), reserved.end()));
}

TEST(PageHistory, AnAllocOverALiveBlockReplacesIt) {
  Snapshot snapshot;
  snapshot.device_traces = {{{.address = 512, .size = 100, .time_us = 5},
                             {.address = 512, .size = 300, .time_us = 4},
                             {.action = TraceAction::kFreeCompleted, .address = 512, .size = 300},
                             {.action = TraceAction::kFreeCompleted, .address = 512, .size = 300}}};
  const DeviceHistory history = history_of(snapshot, 0);
  // The second free finds nothing live.
  EXPECT_THAT(unpacked(history.packed).live, ElementsAre(0, 100, 300, 0, 0));
  EXPECT_EQ(history.peak_bytes, 300);
  EXPECT_THAT(unpacked(history.packed).time_us, ElementsAre(0, -1, -1, -1));
}

TEST(PageHistory, ARangeIsCutOutOfALongerOne) {
  ReservedRanges ranges = {{100, 100}, {300, 50}};
  remove_range(ranges, 150, 10);
  EXPECT_THAT(ranges,
              ElementsAre(testing::Pair(100, 50), testing::Pair(160, 40), testing::Pair(300, 50)));
  remove_range(ranges, 0, 310);
  EXPECT_THAT(ranges, ElementsAre(testing::Pair(310, 40)));
}

TEST(PageHistory, NumbersOfAllSizesArePacked) {
  std::string bytes;
  for (const uint64_t value : {uint64_t{0}, uint64_t{127}, uint64_t{128}, UINT64_MAX}) {
    append_varint(bytes, value);
  }
  EXPECT_EQ(bytes.size(), 1U + 1U + 2U + 10U);
  EXPECT_EQ(zigzag(0), 0U);
  EXPECT_EQ(zigzag(-1), 1U);
  EXPECT_EQ(zigzag(1), 2U);
  EXPECT_EQ(zigzag(INT64_MIN), UINT64_MAX);
}

}  // namespace
}  // namespace headroom
