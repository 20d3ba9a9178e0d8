#include "profiling/report/figures/memory_over_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "profiling/report/rows/cells.h"
#include "tests/profiling/snapshot/sample.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(MemoryOverTime, DrawsThePeakOfTheSample) {
  const SnapshotSample sample = make_sample(20000);
  const Figure figure = memory_over_time(sample.snapshot, "run.pickle");
  EXPECT_THAT(figure.notes,
              ElementsAre(StartsWith("peak drawn: " + bytes_in_full(sample.peak_bytes))));
}

// A step in two phases: 1,000 bytes of parameters, 24 of activations, and 100 without a purpose
// that end before the second phase.
Snapshot two_phases() {
  Snapshot snapshot;
  snapshot.labels = {"parameters: w", "activations: x"};
  snapshot.device_traces.resize(1);
  const auto event = [&](TraceAction action, uint64_t address, int64_t size, int32_t label) {
    auto& trace = snapshot.device_traces[0];
    trace.push_back({.action = action,
                     .address = address,
                     .size = size,
                     .time_us = 10 * static_cast<int64_t>(trace.size() + 1),
                     .label = label});
  };
  event(TraceAction::kAlloc, 1, 1000, 0);
  event(TraceAction::kAlloc, 2, 24, 1);
  event(TraceAction::kAlloc, 3, 100, -1);
  event(TraceAction::kFreeCompleted, 3, 100, -1);
  event(TraceAction::kFreeCompleted, 2, 24, -1);
  snapshot.annotations = {
      {"forward", true, 0, 5}, {"forward", false, 0, 35}, {"backward", true, 0, 35}};
  return snapshot;
}

TEST(MemoryOverTime, PurposesAreAreasAndPhasesHaveNames) {
  const Figure figure = memory_over_time(two_phases(), "run.pickle");
  EXPECT_THAT(figure.notes, ElementsAre("peak drawn: " + bytes_in_full(1124) + " on device 0"));
  for (const char* text : {"<title>parameters</title>", "<title>activations</title>",
                           "<title>not recorded</title>", ">forward</text>", ">backward</text>"}) {
    EXPECT_THAT(figure.svg, HasSubstr(text));
  }
}

TEST(MemoryOverTime, ManyPurposesShareAnArea) {
  Snapshot snapshot = two_phases();
  for (int i = 0; i < 9; ++i) {
    snapshot.labels.push_back("kind" + std::to_string(i) + ": y");
    snapshot.device_traces[0].push_back({.action = TraceAction::kAlloc,
                                         .address = static_cast<uint64_t>(100 + i),
                                         .size = 10 * (i + 1),
                                         .time_us = 100 + i,
                                         .label = 2 + i});
  }
  const Figure figure = memory_over_time(snapshot, "run.pickle");
  EXPECT_THAT(figure.svg, HasSubstr("<title>other purposes</title>"));
  EXPECT_THAT(figure.svg, HasSubstr("<title>kind8</title>"));
  EXPECT_THAT(figure.svg, Not(HasSubstr("<title>kind0</title>")));
}

TEST(MemoryOverTime, NothingIsDrawnOfNothing) {
  EXPECT_THROW(memory_over_time(Snapshot{}, "run.pickle"), std::runtime_error);
}

}  // namespace
}  // namespace headroom
