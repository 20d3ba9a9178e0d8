// The state of events, if they are done when the host waits.
#include "virtual_gpu/device/streams/pending.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>

#include "virtual_gpu/device/streams/stream.h"

namespace virtual_gpu {
namespace {

constexpr unsigned kNonBlocking = 1;

class LateEventsTest : public testing::Test {
 protected:
  LateEventsTest() { streams.make_late(std::chrono::hours(1)); }

  void work(Stream& stream) { EXPECT_FALSE(streams.issue(stream, NodeKind::kKernel, 0)); }
  Event& record(Stream& stream) {
    Event& event = *streams.create_event(stream.device, 0);
    streams.record(event, stream);
    return event;
  }
  bool is_done(const Event& event) { return streams.query(event) == Status::kOk; }

  Streams streams;
  std::unique_ptr<Stream> ordinary = streams.create_default(0);
  Stream& a = *streams.create(0, kNonBlocking, 0);
  Stream& b = *streams.create(0, kNonBlocking, 0);
  Stream& blocking = *streams.create(0, 0, 0);
  Stream& elsewhere = *streams.create(1, kNonBlocking, 0);
};

TEST_F(LateEventsTest, AnEventBehindWorkIsNotDoneUntilTheHostWaits) {
  work(a);
  Event& event = record(a);
  EXPECT_EQ(streams.query(event), Status::kNotReady);
  EXPECT_EQ(streams.query(a), Status::kNotReady);
  EXPECT_EQ(streams.synchronize(event), Status::kOk);
  EXPECT_TRUE(is_done(event));
  EXPECT_EQ(streams.query(a), Status::kOk);
}

TEST_F(LateEventsTest, AnEventBehindNothingOrNeverRecordedIsDone) {
  EXPECT_TRUE(is_done(record(a)));
  EXPECT_TRUE(is_done(*streams.create_event(0, 0)));
  work(a);
  ASSERT_EQ(streams.synchronize(a), Status::kOk);
  EXPECT_TRUE(is_done(record(a)));
}

TEST_F(LateEventsTest, AWaitCompletesWhatCameBeforeAndNotWhatCameAfter) {
  work(a);
  Event& first = record(a);
  work(a);
  Event& second = record(a);
  work(a);
  Event& third = record(a);
  streams.synchronize(second);
  EXPECT_TRUE(is_done(first));
  EXPECT_FALSE(is_done(third));
}

TEST_F(LateEventsTest, OtherStreamsArePendingAfterAWaitForOne) {
  work(a);
  work(b);
  Event& other = record(b);
  streams.synchronize(a);
  EXPECT_FALSE(is_done(other));
}

TEST_F(LateEventsTest, AWaitReachesThroughTheStreamsThatWaited) {
  Stream& c = *streams.create(0, kNonBlocking, 0);
  work(a);
  Event& of_a = record(a);
  streams.wait(b, of_a);
  Event& of_b = record(b);  // without own work
  streams.wait(c, of_b);
  work(a);
  Event& later = record(a);
  EXPECT_FALSE(is_done(of_b));
  streams.synchronize(c);
  EXPECT_TRUE(is_done(of_a));
  EXPECT_TRUE(is_done(of_b));
  EXPECT_FALSE(is_done(later)) << "nobody waited for it";
}

TEST_F(LateEventsTest, AnEarlierMomentOfAStreamDoesNotReachItsLaterWaits) {
  work(a);
  Event& of_a = record(a);
  work(b);
  Event& before = record(b);
  streams.wait(b, of_a);
  streams.synchronize(before);
  EXPECT_FALSE(is_done(of_a));
}

TEST_F(LateEventsTest, AnEventRecordedAgainIsOfTheLaterWork) {
  work(a);
  Event& event = record(a);
  streams.synchronize(event);
  work(b);
  streams.record(event, b);
  EXPECT_FALSE(is_done(event));
}

TEST_F(LateEventsTest, TheDeviceIsWaitedForAsAWhole) {
  work(a);
  work(elsewhere);
  Event& here = record(a);
  Event& there = record(elsewhere);
  streams.synchronize_device(0);
  EXPECT_TRUE(is_done(here));
  EXPECT_FALSE(is_done(there));
}

TEST_F(LateEventsTest, TheDefaultStreamComesAfterBlockingStreamsAndTheyAfterIt) {
  work(blocking);
  Event& first = record(blocking);
  work(a);
  Event& unordered = record(a);
  streams.synchronize(*ordinary);
  EXPECT_TRUE(is_done(first));
  EXPECT_FALSE(is_done(unordered)) << "a stream that does not block has no order with it";
  work(*ordinary);
  Event& second = record(*ordinary);
  work(blocking);
  streams.synchronize(blocking);
  EXPECT_TRUE(is_done(second));
}

TEST_F(LateEventsTest, WorkOfADestroyedStreamIsStillToBeWaitedFor) {
  for (Stream* stream : {&a, &blocking}) {
    work(*stream);
    Event& event = record(*stream);
    streams.destroy(stream);
    EXPECT_FALSE(is_done(event));
    streams.synchronize(event);
    EXPECT_TRUE(is_done(event));
  }
  Stream& next = *streams.create(0, 0, 0);
  work(next);
  Event& event = record(next);
  streams.destroy(&next);
  streams.synchronize(*ordinary);
  EXPECT_TRUE(is_done(event)) << "the default stream came after it";
}

TEST_F(LateEventsTest, AThreadThatAsksAndAsksIsWaiting) {
  work(a);
  Event& event = record(a);
  int refused = 0;
  while (!is_done(event)) ++refused;
  EXPECT_EQ(refused, PollingThreads::kMostRefusals - 1);
}

TEST_F(LateEventsTest, AThreadThatIssuesBetweenItsQuestionsIsNotWaiting) {
  work(a);
  Event& event = record(a);
  for (int i = 0; i < 2 * PollingThreads::kMostRefusals; ++i) {
    ASSERT_FALSE(is_done(event));
    work(b);
  }
}

TEST_F(LateEventsTest, AThreadThatIssuesNothingHearsDoneOnlyWhenAllAreQuiet) {
  work(a);
  Event& event = record(a);
  std::thread([&] {
    for (int i = 0; i < 2 * PollingThreads::kMostRefusals; ++i) ASSERT_FALSE(is_done(event));
  }).join();
  Streams quiet;
  quiet.make_late(std::chrono::milliseconds(0));
  Stream& stream = *quiet.create(0, kNonBlocking, 0);
  quiet.issue(stream, NodeKind::kKernel, 0);
  quiet.record(event, stream);
  std::thread([&] { EXPECT_EQ(quiet.query(event), Status::kOk); }).join();
}

TEST_F(LateEventsTest, WhenTheProcessEndsWhoOnlyAsksHearsThatAllIsDone) {
  work(a);
  Event& event = record(a);
  std::promise<void> refused;
  bool heard = false;
  std::thread watchdog([&] {
    EXPECT_EQ(streams.query(event), Status::kNotReady);
    refused.set_value();
    while (streams.query(event) != Status::kOk) std::this_thread::yield();
    heard = true;
  });
  refused.get_future().wait();
  streams.end_late(std::chrono::minutes(1));
  watchdog.join();
  EXPECT_TRUE(heard);
  EXPECT_TRUE(is_done(record(b)));
}

TEST_F(LateEventsTest, CapturedWorkIsNotPending) {
  ASSERT_EQ(streams.begin(a, CaptureMode::kRelaxed), Status::kOk);
  EXPECT_TRUE(streams.issue(a, NodeKind::kKernel, 0));
  std::unique_ptr<Graph> graph;
  ASSERT_EQ(streams.end(a, &graph), Status::kOk);
  EXPECT_EQ(streams.query(a), Status::kOk);
  EXPECT_FALSE(streams.any_capture());
  EXPECT_TRUE(streams.notes_work());
}

TEST(DoneEventsTest, WithoutLateEventsWorkIsDoneAndNotNoted) {
  Streams streams;
  Stream& stream = *streams.create(0, 0, 0);
  EXPECT_FALSE(streams.notes_work());
  streams.issue(stream, NodeKind::kKernel, 0);
  Event& event = *streams.create_event(0, 0);
  streams.record(event, stream);
  EXPECT_EQ(streams.query(event), Status::kOk);
  EXPECT_EQ(streams.query(stream), Status::kOk);
}

}  // namespace
}  // namespace virtual_gpu
