#include "profiling/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;

constexpr auto kAlloc = TraceAction::kAlloc;
constexpr auto kRequested = TraceAction::kFreeRequested;
constexpr auto kCompleted = TraceAction::kFreeCompleted;

// A weight and a moment from before the recording, a gradient and a temporary. The moment is freed.
struct Example {
  Recording recording = {.live_at_start = {{1, 100}, {2, 50}},
                         .events = {{kAlloc, 3, 10},
                                    {kAlloc, 4, 20},
                                    {kRequested, 3, 10},
                                    {kRequested, 2, 50},
                                    {kCompleted, 3, 10},
                                    {kCompleted, 2, 50}}};
  std::vector<Owned> owned = {{Category::kParameters, 1, 0, "head.weight"},
                              {Category::kOptimizerState, 2, 0, "head.weight"},
                              {Category::kGradients, 4, 2, "head.weight"}};

  // The last `events`, like the allocator's own history.
  Snapshot snapshot(size_t events) const {
    Snapshot snapshot;
    snapshot.frames = {{"free_it", "a.cpp", 1}};
    snapshot.stacks = {{0}};
    snapshot.device_traces = {
        {}, {recording.events.end() - static_cast<ptrdiff_t>(events), recording.events.end()}};
    for (TraceEvent& event : snapshot.device_traces[1]) {
      if (event.action != kAlloc) event.stack = 0;
    }
    snapshot.device_traces[1].push_back({.action = TraceAction::kSnapshot});
    snapshot.segments = {{.blocks = {{.address = 1, .size = 100},
                                     {.address = 4, .size = 20, .stack = 0},
                                     {.address = 2, .size = 50, .state = BlockState::kInactive}}}};
    label_blocks(snapshot, recording, lifetimes_of(recording, owned));
    return snapshot;
  }
};

std::vector<std::string> labels_of(const Snapshot& snapshot) {
  std::vector<std::string> labels;
  for (const TraceEvent& event : snapshot.device_traces[1]) {
    labels.push_back(event.label < 0 ? "-" : snapshot.labels.at(static_cast<size_t>(event.label)));
  }
  return labels;
}

std::vector<std::string> names_in(const Snapshot& snapshot, int32_t stack) {
  std::vector<std::string> names;
  if (stack < 0) return names;
  for (const int32_t frame : snapshot.stacks.at(static_cast<size_t>(stack))) {
    names.push_back(snapshot.frames.at(static_cast<size_t>(frame)).name);
  }
  return names;
}

TEST(Labels, EveryEventOfABlockSaysWhatTheBlockIsFor) {
  EXPECT_THAT(labels_of(Example().snapshot(6)),
              ElementsAre("temporaries", "gradients: head.weight", "temporaries",
                          "optimizer_state: head.weight", "temporaries",
                          "optimizer_state: head.weight", "-"));
}

TEST(Labels, ASnapshotThatLostItsOldestEventsHasThoseOfTheRest) {
  EXPECT_THAT(labels_of(Example().snapshot(4)),
              ElementsAre("temporaries", "optimizer_state: head.weight", "temporaries",
                          "optimizer_state: head.weight", "-"));
}

TEST(Labels, WhatLivedBeforeIsNamedWhereTheViewerLooks) {
  const Snapshot snapshot = Example().snapshot(6);
  const std::vector<Block>& blocks = snapshot.segments[0].blocks;
  EXPECT_THAT(names_in(snapshot, blocks[0].stack), ElementsAre("parameters: head.weight"));
  EXPECT_THAT(names_in(snapshot, blocks[1].stack), ElementsAre("free_it")) << "not from before";
  EXPECT_EQ(blocks[2].stack, -1) << "not live";
  const auto& trace = snapshot.device_traces[1];
  for (const size_t release : {3, 5}) {
    EXPECT_THAT(names_in(snapshot, trace[release].stack),
                ElementsAre("optimizer_state: head.weight", "free_it"));
  }
  EXPECT_THAT(names_in(snapshot, trace[2].stack), ElementsAre("free_it"));
}

TEST(Labels, EventsThatAreNotTheRecordingsAreLeftAlone) {
  Example example;
  Snapshot snapshot = example.snapshot(0);
  snapshot.device_traces[1] = {{kAlloc, 3, 10}, {kAlloc, 77, 20}, {kCompleted, 2, 50}};
  label_blocks(snapshot, example.recording, lifetimes_of(example.recording, example.owned));
  EXPECT_THAT(labels_of(snapshot), ElementsAre("-", "-", "optimizer_state: head.weight"));
}

}  // namespace
}  // namespace headroom
