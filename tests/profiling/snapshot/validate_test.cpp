#include "profiling/snapshot/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines(const SnapshotFile& file) {
  std::vector<std::string> texts;
  for (const SnapshotProblem& problem : validate_snapshot(file)) {
    texts.push_back((problem.is_error ? "error: " : "warning: ") + problem.text);
  }
  return texts;
}

std::vector<std::string> lines_after(const std::function<void(Snapshot&)>& spoil) {
  SnapshotFile file{.snapshot = make_sample(4000).snapshot};
  spoil(file.snapshot);
  return lines(file);
}

std::vector<TraceEvent>::iterator find(Snapshot& snapshot, TraceAction action) {
  auto& trace = snapshot.device_traces[0];
  return std::find_if(trace.begin() + 1000, trace.end(),
                      [&](const TraceEvent& event) { return event.action == action; });
}

// An expandable segment that grows twice, shrinks in the middle and remains as two pieces.
Snapshot expandable() {
  constexpr int64_t kPage = 2 << 20;
  const auto at = [](int64_t page) { return uint64_t{0x10000000} + page * kPage; };
  Snapshot snapshot;
  snapshot.device_traces = {{
      {.action = TraceAction::kSegmentMap, .address = at(0), .size = 2 * kPage},
      {.action = TraceAction::kAlloc, .address = at(0), .size = kPage},
      {.action = TraceAction::kSegmentMap, .address = at(2), .size = 2 * kPage},
      {.action = TraceAction::kAlloc, .address = at(1), .size = 2 * kPage},
      {.action = TraceAction::kAlloc, .address = at(3), .size = kPage},
      {.action = TraceAction::kFreeRequested, .address = at(1), .size = 2 * kPage},
      {.action = TraceAction::kFreeCompleted, .address = at(1), .size = 2 * kPage},
      {.action = TraceAction::kSegmentUnmap, .address = at(1), .size = 2 * kPage},
  }};
  for (const int64_t page : {0, 3}) {
    snapshot.segments.push_back(
        {.address = at(page),
         .total_size = kPage,
         .is_expandable = true,
         .blocks = {{.address = at(page), .size = kPage, .requested_size = kPage}}});
  }
  return snapshot;
}

TEST(SnapshotValidate, AConsistentSnapshotHasNoProblems) {
  EXPECT_THAT(lines_after([](Snapshot&) {}), IsEmpty());
  EXPECT_THAT(lines({.snapshot = expandable()}), IsEmpty());
}

TEST(SnapshotValidate, AFreeBlockMayStillSayWhatItsLastUserAskedFor) {
  const auto set = [](BlockState state) {
    return lines_after([state](Snapshot& s) {
      for (Segment& segment : s.segments) {
        for (Block& block : segment.blocks) {
          if (block.state == state) block.requested_size = block.size + 1024;
        }
      }
    });
  };
  EXPECT_THAT(set(BlockState::kInactive), IsEmpty());
  EXPECT_THAT(set(BlockState::kActiveAllocated), Contains(HasSubstr("requested size")));
}

TEST(SnapshotValidate, ALostEventIsNamedWithItsAddress) {
  EXPECT_THAT(lines_after([](Snapshot& s) {
                s.device_traces[0].erase(find(s, TraceAction::kFreeCompleted));
              }),
              Contains(AllOf(HasSubstr("error: device 0: "), HasSubstr("0x7f"))));
  EXPECT_THAT(lines_after([](Snapshot& s) {
                s.device_traces[0].erase(find(s, TraceAction::kSegmentAlloc));
              }),
              IsEmpty());  // in the file it is older than the trace
  EXPECT_THAT(lines_after([](Snapshot& s) { s.segments.pop_back(); }),
              Contains(HasSubstr("neither freed later nor there at the end")));
  EXPECT_THAT(lines_after([](Snapshot& s) {
                s.device_traces[0].push_back(
                    {.action = TraceAction::kFreeRequested, .address = 0x5000, .size = 1});
              }),
              Contains(HasSubstr("state history stops")));
  EXPECT_THAT(lines_after([](Snapshot& s) { find(s, TraceAction::kAlloc)->size += 1; }),
              Contains(HasSubstr("another size")));
}

TEST(SnapshotValidate, BlocksThatDoNotTileTheirSegmentAreErrors) {
  EXPECT_THAT(lines_after([](Snapshot& s) { s.segments[2].blocks.pop_back(); }),
              Contains(HasSubstr("the segment has")));
  EXPECT_THAT(lines_after([](Snapshot& s) {
                auto& blocks = s.segments[2].blocks;
                blocks.erase(blocks.begin() + 1);
              }),
              Contains(HasSubstr("gap or overlap")));
  EXPECT_THAT(lines_after([](Snapshot& s) { s.segments.push_back(s.segments[0]); }),
              Contains(HasSubstr("two segments start")));
}

TEST(SnapshotValidate, WhatTheViewerCannotReadIsAnError) {
  SnapshotFile file{.snapshot = make_sample(100).snapshot};
  file.facts = {.protocol = 5, .largest_batch = 130'000, .largest_batch_offset = 77};
  const std::vector<std::string> found = lines(file);
  EXPECT_THAT(found, Contains(AllOf(HasSubstr("error: "), HasSubstr("protocol 5"))));
  EXPECT_THAT(found, Contains(AllOf(HasSubstr("130000"), HasSubstr("byte 77"))));
  file.facts = {.protocol = 4, .largest_batch = 125'000};
  EXPECT_THAT(lines(file), IsEmpty());
}

TEST(SnapshotValidate, WhatTheViewerIsSlowWithIsAWarning) {
  SnapshotFile file{.snapshot = make_sample(600'100).snapshot};
  file.facts = {.unsafe_integers = 1, .bytes = 600'000'000};
  const std::vector<std::string> found = lines(file);
  EXPECT_THAT(found, Contains(HasSubstr("warning: the file has 600 MB")));
  EXPECT_THAT(found, Contains(HasSubstr("events: the viewer gets very slow")));
  EXPECT_THAT(found, Contains(HasSubstr("beyond 2^53")));
  EXPECT_FALSE(has_error(validate_snapshot(file)));
  file.facts.bytes = 1'000'000'000;
  EXPECT_THAT(lines(file), Contains(HasSubstr("run out of memory")));
}

TEST(SnapshotValidate, AnEmptyRecordingIsSaidSo) {
  EXPECT_THAT(lines_after([](Snapshot& s) { s.device_traces = {{}}; }),
              Contains(HasSubstr("warning: the trace is empty")));
  EXPECT_THAT(lines_after([](Snapshot& s) { s = {}; }),
              Contains(HasSubstr("error: no events and no segments")));
}

}  // namespace
}  // namespace headroom
