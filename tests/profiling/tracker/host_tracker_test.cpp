#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "model/torch.h"
#include "profiling/tracker/memory_tracker.h"
#include "tests/profiling/tracker/failing_new.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using torch::Tensor;

constexpr int64_t kMiB = 1 << 20;

Tensor bytes(int64_t count) { return torch::empty({count}, torch::kUInt8); }

// Bytes above those live when the test began.
class HostTracker : public testing::Test {
 protected:
  int64_t live() const { return tracker_->current().allocated - at_start_; }
  int64_t peak() const { return tracker_->peak().allocated - at_start_; }

  std::unique_ptr<MemoryTracker> tracker_ = make_host_tracker(0);
  int64_t at_start_ = tracker_->current().allocated;
};

TEST_F(HostTracker, CountsEveryByteAsRequested) {
  tracker_->reset_peak();
  Tensor a = bytes(1001);
  Tensor b = torch::zeros({10, 10});
  EXPECT_EQ(live(), 1001 + 400);
  const MemoryBytes now = tracker_->current();
  EXPECT_EQ(now.reserved, now.allocated);
  EXPECT_EQ(now.requested, now.allocated);
  a = Tensor();
  EXPECT_EQ(live(), 400);
  EXPECT_EQ(peak(), 1401);
  tracker_->reset_peak();
  EXPECT_EQ(peak(), 400);
  const Tensor view = b.view({100}).narrow(0, 5, 50);
  EXPECT_EQ(live(), 400) << "a view is no memory";
  b = Tensor();
  EXPECT_EQ(live(), 400) << "held by the view";
}

TEST_F(HostTracker, WhatIsEmptyCostsNothing) {
  const Tensor empty = bytes(0);
  EXPECT_EQ(live(), 0);
}

TEST_F(HostTracker, CountsTheAllocationsOfEveryThread) {
  std::vector<std::thread> threads;
  std::vector<Tensor> kept(4);
  for (Tensor& tensor : kept) {
    threads.emplace_back([&tensor] {
      for (int i = 0; i < 200; ++i) tensor = bytes(1000 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(live(), 4 * 1199);
  kept.clear();
  EXPECT_EQ(live(), 0);
  EXPECT_GE(peak(), 4 * 1199);
}

TEST_F(HostTracker, ATensorMayOutliveTheTrackerAndAnotherTrackerCountsOn) {
  Tensor tensor = bytes(5000);
  tracker_.reset();
  const Tensor between = bytes(300);
  tracker_ = make_host_tracker(0);
  EXPECT_EQ(live(), 5300);
  tensor = Tensor();
  EXPECT_EQ(live(), 300);
}

TEST_F(HostTracker, BeyondTheLimitIsOutOfMemoryWithTheSizes) {
  tracker_ = make_host_tracker(at_start_ + 10 * kMiB);
  const Tensor fits = bytes(6 * kMiB);
  try {
    const Tensor too_much = bytes(5 * kMiB);
    FAIL();
  } catch (const c10::OutOfMemoryError& error) {
    const std::string text = error.what_without_backtrace();
    EXPECT_THAT(text, HasSubstr("tried to allocate 5.000 MiB"));
    EXPECT_THAT(text, HasSubstr("live of "));
    EXPECT_THAT(text, HasSubstr("--host-memory"));
  }
  EXPECT_EQ(live(), 6 * kMiB) << "a refused allocation is not counted";
  EXPECT_NO_THROW(bytes(4 * kMiB)) << "and what fits still does";
  tracker_ = make_host_tracker(0);
  EXPECT_NO_THROW(bytes(20 * kMiB));
}

// Each fits, but not both.
TEST_F(HostTracker, TwoThreadsCannotPassTheLimitTogether) {
  tracker_ = make_host_tracker(at_start_ + 10 * kMiB);
  constexpr int kRounds = 100;
  std::atomic<int> waiting = 0;  // of both threads, in all rounds
  std::atomic<int> got = 0;
  const auto allocate = [&] {
    for (int round = 0; round < kRounds; ++round) {
      Tensor tensor;
      const auto meet = [&](int threads) {
        ++waiting;
        while (waiting < threads) std::this_thread::yield();
      };
      meet(4 * round + 2);
      try {
        tensor = bytes(6 * kMiB);
        ++got;
      } catch (const c10::OutOfMemoryError&) {
      }
      meet(4 * round + 4);  // the other has also tried
    }
  };
  std::thread other(allocate);
  allocate();
  other.join();
  EXPECT_EQ(got, kRounds) << "one in each round";
  tracker_ = make_host_tracker(0);
}

// Every operator new of an allocation fails once. The blocks are large, so each is a mapping.
TEST_F(HostTracker, AnAllocationThatCannotBeBookedLeavesNothingBehind) {
  for (const bool recording : {false, true}) {
    if (recording) tracker_->start_recording({.stacks = Stacks::kNone});
    const size_t mapped = mallinfo2().hblkhd;
    int failures = 0;
    for (bool done = false; !done && failures < 100;) {
      c10::DataPtr block;
      try {
        const FailingNew failing(failures);
        block = c10::GetAllocator(c10::DeviceType::CPU)->allocate(64 * kMiB);
        done = true;
      } catch (const std::bad_alloc&) {
        ++failures;
      }
    }
    EXPECT_GT(failures, recording ? 1 : 0);
    EXPECT_LT(failures, 100);
    EXPECT_EQ(live(), 0);
    EXPECT_EQ(mallinfo2().hblkhd, mapped);
  }
  bool truncated = true;
  EXPECT_EQ(tracker_->stop_recording(nullptr, &truncated).events.size(), 3U);
}

TEST_F(HostTracker, AReleaseThatCannotBeLoggedIsAReleaseAndTheRecordingSaysItIsNotWhole) {
  tracker_->start_recording({.stacks = Stacks::kNone});
  c10::DataPtr block = c10::GetAllocator(c10::DeviceType::CPU)->allocate(64 * kMiB);
  {
    const FailingNew failing(0);
    block.clear();
  }
  EXPECT_EQ(live(), 0);
  bool truncated = false;
  tracker_->stop_recording(nullptr, &truncated);
  EXPECT_TRUE(truncated);
}

TEST_F(HostTracker, WhileStacksAreNamedOtherThreadsAllocate) {
  tracker_->start_recording({.stacks = Stacks::kCpp});
  const Tensor recorded = bytes(100);
  std::atomic<int> allocated = 0;
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) {
      bytes(10);
      ++allocated;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  while (allocated == 0) std::this_thread::yield();
  const int before = allocated;
  Snapshot snapshot;
  bool truncated = true;
  tracker_->stop_recording(&snapshot, &truncated);  // starts a program that reads debug information
  const int during = allocated - before;
  over = true;
  other.join();
  EXPECT_GE(during, 5);
}

TEST_F(HostTracker, ARecordingIsEveryAllocationInOrder) {
  const Tensor before = bytes(64);
  tracker_->start_recording({.stacks = Stacks::kNone});
  Tensor a = bytes(100);
  tracker_->mark({ScopeKind::kPhase, "forward"}, true);
  const Tensor b = bytes(200);
  a = Tensor();
  tracker_->mark({ScopeKind::kPhase, "forward"}, false);
  EXPECT_EQ(tracker_->events(), 4);
  Snapshot snapshot;
  bool truncated = true;
  const Recording recording = tracker_->stop_recording(&snapshot, &truncated);
  const Tensor after = bytes(1);

  EXPECT_FALSE(truncated);
  EXPECT_TRUE(std::any_of(
      recording.live_at_start.begin(), recording.live_at_start.end(), [&](const LiveBlock& block) {
        return block.address == reinterpret_cast<uint64_t>(before.storage().data()) &&
               block.size == 64;
      }));
  ASSERT_EQ(recording.events.size(), 4U);
  EXPECT_EQ(recording.events[0].action, TraceAction::kAlloc);
  EXPECT_EQ(recording.events[0].size, 100);
  EXPECT_EQ(recording.events[1].size, 200);
  EXPECT_EQ(recording.events[2].action, TraceAction::kFreeRequested);
  EXPECT_EQ(recording.events[3].action, TraceAction::kFreeCompleted);
  EXPECT_EQ(recording.events[3].address, recording.events[0].address);
  ASSERT_EQ(recording.marks.size(), 2U);
  EXPECT_EQ(recording.marks[0].event_index, 1);
  EXPECT_EQ(recording.marks[1].event_index, 4);

  int64_t in_segments = 0;
  for (const Segment& segment : snapshot.segments) in_segments += segment.allocated_size;
  EXPECT_EQ(in_segments, at_start_ + 64 + 200) << "the snapshot is of the recording's end";
  ASSERT_EQ(snapshot.device_traces.size(), 1U);
  EXPECT_EQ(snapshot.device_traces[0].size(), 4U);
  EXPECT_EQ(snapshot.annotations.size(), 2U);
}

TEST_F(HostTracker, OfTooManyEventsTheNewestAreInTheSnapshotAndAllInTheRecording) {
  tracker_->start_recording({.stacks = Stacks::kNone, .max_entries = 5});
  for (int i = 1; i <= 4; ++i) bytes(i);
  Snapshot snapshot;
  bool truncated = false;
  const Recording recording = tracker_->stop_recording(&snapshot, &truncated);
  EXPECT_TRUE(truncated);
  EXPECT_EQ(recording.events.size(), 12U);
  ASSERT_EQ(snapshot.device_traces[0].size(), 5U);
  EXPECT_EQ(snapshot.device_traces[0].back().size, 4);
  EXPECT_EQ(snapshot.device_traces[0][2].action, TraceAction::kAlloc);
}

TEST_F(HostTracker, ARefusedAllocationIsInTheTrace) {
  tracker_ = make_host_tracker(at_start_ + kMiB);
  tracker_->start_recording({.stacks = Stacks::kNone});
  EXPECT_THROW(bytes(2 * kMiB), c10::OutOfMemoryError);
  bool truncated = false;
  const Recording recording = tracker_->stop_recording(nullptr, &truncated);
  ASSERT_EQ(recording.events.size(), 1U);
  EXPECT_EQ(recording.events[0].action, TraceAction::kOom);
  EXPECT_EQ(recording.events[0].size, 2 * kMiB);
  EXPECT_EQ(recording.events[0].address, static_cast<uint64_t>(kMiB)) << "free bytes";
  tracker_ = make_host_tracker(0);
}

}  // namespace
}  // namespace headroom
