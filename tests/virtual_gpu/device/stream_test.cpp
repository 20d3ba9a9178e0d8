#include "virtual_gpu/device/streams/stream.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace virtual_gpu {
namespace {

class StreamTest : public testing::Test {
 protected:
  ~StreamTest() override { Streams::exchange_thread_mode(CaptureMode::kGlobal); }
  Streams streams;
  Stream& a = *streams.create(0, 0, 0);
  Stream& b = *streams.create(0, 0, 0);
  Event& event = *streams.create_event(0, 0);
  std::unique_ptr<Graph> graph;
};

TEST_F(StreamTest, ACaptureHoldsTheWorkInOrder) {
  EXPECT_FALSE(streams.issue(a, NodeKind::kKernel, 0)) << "not captured: it runs";
  ASSERT_EQ(streams.begin(a, CaptureMode::kGlobal), Status::kOk);
  EXPECT_TRUE(streams.issue(a, NodeKind::kKernel, 10));
  EXPECT_EQ(streams.capture_of(a)->leaves->size(), 1U);
  EXPECT_FALSE(streams.capture_of(b).has_value());
  EXPECT_TRUE(streams.issue(a, NodeKind::kCopy, 0));
  EXPECT_FALSE(streams.issue(b, NodeKind::kKernel, 0));
  ASSERT_EQ(streams.end(a, &graph), Status::kOk);
  ASSERT_EQ(graph->nodes.size(), 2U);
  EXPECT_EQ(graph->nodes[1]->after, std::vector<Node*>{graph->nodes[0].get()});
  EXPECT_EQ(graph->kernels(), 1U);
  EXPECT_EQ(graph->flops(), 10U);
  EXPECT_FALSE(streams.any_capture());
}

TEST_F(StreamTest, AForkedStreamMustBeJoined) {
  ASSERT_EQ(streams.begin(a, CaptureMode::kGlobal), Status::kOk);
  streams.issue(a, NodeKind::kKernel, 0);
  streams.record(event, a);
  ASSERT_EQ(streams.wait(b, event), Status::kOk);
  EXPECT_TRUE(streams.issue(b, NodeKind::kKernel, 0));
  EXPECT_EQ(streams.end(b, &graph), Status::kIllegalState) << "only where it began";
  EXPECT_EQ(streams.end(a, &graph), Status::kCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(b.capture, nullptr) << "nothing is left half captured";
}

TEST_F(StreamTest, AJoinedForkIsOneGraph) {
  ASSERT_EQ(streams.begin(a, CaptureMode::kGlobal), Status::kOk);
  streams.issue(a, NodeKind::kKernel, 0);
  streams.record(event, a);
  streams.wait(b, event);
  streams.issue(b, NodeKind::kKernel, 0);
  Event& back = *streams.create_event(0, 0);
  streams.record(back, b);
  streams.wait(a, back);
  streams.issue(a, NodeKind::kKernel, 0);
  ASSERT_EQ(streams.end(a, &graph), Status::kOk);
  ASSERT_EQ(graph->nodes.size(), 3U);
  EXPECT_EQ(graph->nodes[2]->after.size(), 2U);
}

TEST_F(StreamTest, WaitingForACapturedStreamBreaksTheCapture) {
  ASSERT_EQ(streams.begin(a, CaptureMode::kGlobal), Status::kOk);
  EXPECT_EQ(streams.synchronize(b), Status::kOk);
  EXPECT_EQ(streams.synchronize(a), Status::kCaptureUnsupported);
  EXPECT_EQ(streams.end(a, &graph), Status::kCaptureInvalidated);
}

TEST_F(StreamTest, UnsafeCallsAreRefusedUnlessRelaxed) {
  EXPECT_EQ(streams.unsafe_call(), Status::kOk);
  ASSERT_EQ(streams.begin(a, CaptureMode::kGlobal), Status::kOk);
  Streams::exchange_thread_mode(CaptureMode::kRelaxed);
  EXPECT_EQ(streams.unsafe_call(), Status::kOk);
  Streams::exchange_thread_mode(CaptureMode::kGlobal);
  EXPECT_EQ(streams.unsafe_call(), Status::kCaptureUnsupported);
  EXPECT_EQ(streams.end(a, &graph), Status::kCaptureInvalidated);
}

TEST_F(StreamTest, AThreadLocalCaptureLeavesOtherThreadsAlone) {
  ASSERT_EQ(streams.begin(a, CaptureMode::kThreadLocal), Status::kOk);
  Status elsewhere = Status::kIllegalState;
  std::thread([&] { elsewhere = streams.unsafe_call(); }).join();
  EXPECT_EQ(elsewhere, Status::kOk);
  EXPECT_EQ(streams.end(a, &graph), Status::kOk);
}

TEST_F(StreamTest, ACaptureEndsWithTheStreamItBeganOn) {
  Stream* origin = streams.create(0, 0, 0);
  ASSERT_EQ(streams.begin(*origin, CaptureMode::kGlobal), Status::kOk);
  streams.record(event, *origin);
  ASSERT_EQ(streams.wait(b, event), Status::kOk);
  ASSERT_EQ(streams.destroy(origin), Status::kOk);
  EXPECT_FALSE(streams.any_capture());
  EXPECT_EQ(streams.unsafe_call(), Status::kOk) << "nothing is watched any more";
  EXPECT_EQ(streams.synchronize(b), Status::kOk);
  EXPECT_FALSE(streams.issue(b, NodeKind::kKernel, 0)) << "no longer captured: it runs";
  EXPECT_EQ(streams.begin(b, CaptureMode::kGlobal), Status::kOk);
  EXPECT_EQ(streams.end(b, &graph), Status::kOk);
}

TEST_F(StreamTest, ADestroyedForkBreaksTheCapture) {
  Stream* fork = streams.create(0, 0, 0);
  ASSERT_EQ(streams.begin(a, CaptureMode::kGlobal), Status::kOk);
  streams.record(event, a);
  ASSERT_EQ(streams.wait(*fork, event), Status::kOk);
  ASSERT_EQ(streams.destroy(fork), Status::kOk);
  EXPECT_EQ(streams.end(a, &graph), Status::kCaptureInvalidated);
  EXPECT_FALSE(streams.any_capture());
}

// For the thread sanitizer.
TEST_F(StreamTest, AnEventIsRecordedWhileOthersAskAboutIt) {
  ASSERT_EQ(streams.begin(a, CaptureMode::kRelaxed), Status::kOk);
  EXPECT_FALSE(streams.milliseconds(event, event).has_value()) << "not recorded yet";
  std::atomic<bool> is_over{false};
  std::atomic<bool> is_begun{false};
  std::thread recorder([&] {
    for (; !is_over; is_begun = true) streams.record(event, b);
  });
  while (!is_begun) std::this_thread::yield();
  for (int i = 0; i < 1000; ++i) {
    Stream* other = streams.create(0, 0, 0);
    EXPECT_EQ(streams.synchronize(event), Status::kOk);
    EXPECT_EQ(streams.wait(*other, event), Status::kOk);
    EXPECT_TRUE(streams.milliseconds(event, event).has_value());
    EXPECT_EQ(streams.destroy(other), Status::kOk);
  }
  is_over = true;
  recorder.join();
  EXPECT_EQ(streams.end(a, &graph), Status::kOk);
}

// The watchdog's thread, which looks after a while.
std::thread look_later(Watchdog& watchdog, std::atomic<bool>& has_looked) {
  return std::thread([&] {
    pthread_setname_np(pthread_self(), "pt_nccl_watchdg");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    has_looked = true;
    watchdog.query();
  });
}
constexpr std::chrono::minutes kBusyMachine{1};  // time to run that thread

TEST(WatchdogTest, AWaitAfterACollectiveReturnsWhenItHasLooked) {
  Watchdog watchdog(kBusyMachine);
  watchdog.collective();
  std::atomic<bool> has_looked{false};
  std::thread looks = look_later(watchdog, has_looked);
  watchdog.host_wait(false);
  EXPECT_TRUE(has_looked);
  looks.join();
}

TEST(WatchdogTest, WithLateEventsAWaitReturnsWhenItHasLookedSinceTheWaitBefore) {
  Watchdog watchdog(kBusyMachine);
  watchdog.collective();
  watchdog.host_wait(true);  // there is no wait before it
  watchdog.collective();
  std::atomic<bool> has_looked{false};
  std::thread looks = look_later(watchdog, has_looked);
  watchdog.host_wait(true);
  EXPECT_TRUE(has_looked);
  looks.join();
}

TEST_F(StreamTest, WithoutAWatchdogTwoWaitsAreInVain) {
  const auto seconds_of_a_wait = [&] {
    streams.collective();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(streams.synchronize(a), Status::kOk);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const double in_vain = std::chrono::duration<double>(Watchdog::kLongest).count();
  EXPECT_GE(seconds_of_a_wait(), in_vain);
  EXPECT_GE(seconds_of_a_wait(), in_vain);
  double shortest = in_vain;
  for (int i = 0; i < 10; ++i) shortest = std::min(shortest, seconds_of_a_wait());
  EXPECT_LT(shortest, in_vain);
}

TEST_F(StreamTest, DestroyedHandlesAreNone) {
  Stream* stream = streams.create(0, 0, 0);
  EXPECT_EQ(streams.destroy(stream), Status::kOk);
  EXPECT_EQ(streams.destroy(stream), Status::kInvalidHandle);
  Event* one = streams.create_event(0, 0);
  EXPECT_EQ(streams.destroy_event(one), Status::kOk);
  EXPECT_EQ(streams.destroy_event(one), Status::kInvalidHandle);
}

}  // namespace
}  // namespace virtual_gpu
