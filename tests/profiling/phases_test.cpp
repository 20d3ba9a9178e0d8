// Phases marked by hand, over a tracker whose figures are set by hand.
#include "profiling/phases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace headroom {
namespace {

const Scope kForwardScope = {ScopeKind::kSaving, "forward"};
const Scope kScoring = {ScopeKind::kPhase, "scoring"};

// A scope from here to the end of the C++ scope.
template <typename Listener = PhasePeaks>
struct Open {
  Open(Listener* heard_by, Scope opened) : listener(heard_by), scope(std::move(opened)) {
    listener->on_scope(scope, /*begins=*/true);
  }
  ~Open() { listener->on_scope(scope, /*begins=*/false); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

  Listener* listener;
  Scope scope;
};

class FakeTracker final : public MemoryTracker {
 public:
  // Allocates and frees `bytes`.
  void pass(int64_t bytes) { peak_ = std::max(peak_, live_ + bytes); }
  void keep(int64_t bytes) {
    live_ += bytes;
    pass(0);
  }

  MemoryBytes current() const override { return {live_, 0, 0}; }
  MemoryBytes peak() const override { return {peak_, 0, 0}; }
  void reset_peak() override { peak_ = live_; }
  void release_cached() override {}
  void start_recording(const RecordingOptions&) override {}
  void mark(const Scope&, bool) override {}
  int64_t events() const override { return 0; }
  Recording stop_recording(Snapshot*, bool*) override { return {}; }

 private:
  int64_t live_ = 0;
  int64_t peak_ = 0;
};

TEST(PhasePeaks, PhasesHaveTheirOwnPeaksAndTheWholeHasTheHighest) {
  FakeTracker memory;
  memory.keep(1000);
  PhasePeaks peaks({&memory});
  for (const int64_t extra : {0, 10}) {
    {
      const Open<> forward(&peaks, kForwardScope);
      memory.pass(100 + extra);
      memory.pass(40);
    }
    memory.pass(900);  // between the phases
    {
      const Open<> block(&peaks, Scope::block(0));
      memory.pass(700);
    }
    const Open<> backward(&peaks, {ScopeKind::kBackward, "backward"});
    memory.pass(500 - extra);
  }
  EXPECT_THAT(peaks.order(), testing::ElementsAre("forward", "backward"));
  EXPECT_EQ(peaks.runs().at("forward"), 2);
  EXPECT_EQ(peaks.phases(0).at("forward").allocated, 1110) << "the higher of two";
  EXPECT_EQ(peaks.phases(0).at("backward").allocated, 1500);
  EXPECT_EQ(peaks.phases(0).size(), 2) << "a block is no phase";
  EXPECT_EQ(peaks.overall(0).allocated, 1900);
}

TEST(PhasePeaks, APhaseInsideAnotherCountsForBoth) {
  FakeTracker memory;
  PhasePeaks peaks({&memory});
  {
    const Open<> forward(&peaks, kForwardScope);
    memory.pass(30);
    {
      const Open<> scoring(&peaks, kScoring);
      memory.pass(20);
    }
    memory.pass(5);
  }
  EXPECT_EQ(peaks.phases(0).at("forward").allocated, 30);
  EXPECT_EQ(peaks.phases(0).at("scoring").allocated, 20);
  {
    const Open<> forward(&peaks, kForwardScope);
    const Open<> scoring(&peaks, kScoring);
    memory.pass(70);
  }
  EXPECT_EQ(peaks.phases(0).at("forward").allocated, 70);
  EXPECT_EQ(peaks.phases(0).at("scoring").allocated, 70);
}

TEST(FailedPhase, IsTheInnermostThatAnExceptionClosed) {
  std::string name;
  FakeTracker memory;
  PhasePeaks peaks({&memory});
  FailedPhase phase(name, &peaks);
  const auto in_a_phase = [&](bool fails) {
    const Open<FailedPhase> outer(&phase, kScoring);
    const Open<FailedPhase> inner(&phase, kForwardScope);
    const Open<FailedPhase> block(&phase, Scope::block(3));
    if (fails) throw std::runtime_error("no memory");
  };
  in_a_phase(false);
  EXPECT_EQ(name, "");
  EXPECT_THROW(in_a_phase(true), std::runtime_error);
  EXPECT_EQ(name, "forward");
  EXPECT_EQ(peaks.runs().at("forward"), 2) << "it passes on what it hears";
}

TEST(PhasePeaks, EveryMemoryKeepsItsOwn) {
  FakeTracker device;
  FakeTracker host;
  PhasePeaks peaks({&device, &host});
  {
    const Open<> forward(&peaks, kForwardScope);
    device.pass(7);
  }
  {
    const Open<> scoring(&peaks, kScoring);
    host.pass(9);
  }
  EXPECT_EQ(peaks.phases(0).at("forward").allocated, 7);
  EXPECT_EQ(peaks.phases(0).at("scoring").allocated, 0);
  EXPECT_EQ(peaks.phases(1).at("forward").allocated, 0);
  EXPECT_EQ(peaks.phases(1).at("scoring").allocated, 9);
  EXPECT_EQ(peaks.overall(0).allocated, 7);
  EXPECT_EQ(peaks.overall(1).allocated, 9);
}

}  // namespace
}  // namespace headroom
