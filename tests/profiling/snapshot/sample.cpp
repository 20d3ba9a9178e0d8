#include "tests/profiling/snapshot/sample.h"

#include <algorithm>
#include <string>
#include <vector>

namespace headroom {
namespace {

constexpr int64_t kSampleMiB = 1 << 20;
constexpr int kSlots = 20;  // of 1 MiB in each segment
constexpr uint64_t kBase = 0x7f0000000000;
constexpr int64_t kStartUs = 1'700'000'000'000'000;
constexpr int64_t kEventsPerPhase = 500;

struct Slot {
  bool live = false;
  bool pending = false;
  int64_t requested = 0;
  int32_t stack = -1;
};

class Maker {
 public:
  explicit Maker(int64_t events) : events_(events) {
    sample_.snapshot.device_traces.resize(2);
    make_stacks();
  }

  SnapshotSample run() {
    for (int i = 0; i < 7; ++i) allocate(/*recorded=*/false);
    peak();
    while (count() < events_ - 4) {
      if (count() / kEventsPerPhase != phase_) next_phase();
      // The number of live blocks varies, so that slots are reused and segments are added.
      const bool grow =
          live_.size() < 40 ||
          (next_random() % 100 < (count() / 3000 % 2 ? 45 : 55) && live_.size() < 4000);
      if (grow) {
        allocate(true);
      } else {
        release(next_random() % live_.size(), true);
      }
      peak();
    }
    record({.action = TraceAction::kOom, .address = 12345, .size = 80 * kSampleMiB});
    record({.action = TraceAction::kSnapshot});
    if (!live_.empty()) release(live_.size() - 1, false);
    finish();
    return sample_;
  }

 private:
  std::vector<TraceEvent>& trace() { return sample_.snapshot.device_traces[0]; }
  int64_t count() { return static_cast<int64_t>(trace().size()); }
  uint64_t next_random() {
    random_ = random_ * 6364136223846793005U + 1442695040888963407U;
    return random_ >> 33;
  }
  uint64_t address(size_t slot) const { return kBase + slot * kSampleMiB; }

  void make_stacks() {
    Snapshot& snapshot = sample_.snapshot;
    snapshot.frames = {
        {"headroom::(anonymous namespace)::record(int)", "/src/headroom/profiling/tracker.cpp", 9},
        {"at::detail::empty_generic(c10::ArrayRef<long>)", "??", 0},
        {"at::_ops::addmm::call(at::Tensor const&)", "??", 0},
        {"at::_ops::linear::call(at::Tensor const&)", "??", 0},
        {"headroom::Attention::forward(at::Tensor)", "/src/headroom/model/attention.cpp", 88},
        {"headroom::Step::run(headroom::Batch const&)", "/src/headroom/train/step.cpp", 41},
        {"non-ASCII \xc3\xa9 and broken \xff", "/src/headroom/model/odd \"name\".cpp", 7}};
    snapshot.stacks = {{0, 1, 2, 3, 4, 5}, {0, 1, 5}, {1, 6}};
    snapshot.labels = {"activations", "gradients: odd \"name\" \xc3\xa9"};
    for (int32_t layer = 0; layer < 300; ++layer) {  // more than the 255 short references
      snapshot.frames.push_back(
          {"headroom::Block::forward", "/src/headroom/model/block.cpp", layer});
      snapshot.stacks.push_back({0, 1, 2, 3, static_cast<int32_t>(snapshot.frames.size()) - 1, 5});
    }
  }

  void record(TraceEvent event) {
    event.time_us = kStartUs + count() * 3;
    trace().push_back(event);
  }

  void next_phase() {
    static const char* names[] = {"forward", "backward"};
    const int64_t now = kStartUs + count() * 3;
    auto& annotations = sample_.snapshot.annotations;
    if (phase_ >= 0) annotations.push_back({names[phase_ % 2], false, 0, now - 1});
    phase_ = count() / kEventsPerPhase;
    annotations.push_back({names[phase_ % 2], true, 0, now});
  }

  void allocate(bool recorded) {
    if (free_.empty()) add_segment(recorded);
    const size_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    const auto random = static_cast<int64_t>(next_random());
    slot = {.live = true,
            .requested = 512 + random % (kSampleMiB - 512),
            .stack = static_cast<int32_t>(random % 303)};
    live_.push_back(index);
    bytes_ += slot.requested;
    if (!recorded) return;
    record({.address = address(index),
            .size = slot.requested,
            .stack = slot.stack,
            .label = static_cast<int32_t>(random % 3) - 1});
  }

  void add_segment(bool recorded) {
    const size_t first = slots_.size();
    slots_.resize(first + kSlots);
    for (size_t i = first + kSlots; i > first; --i) free_.push_back(i - 1);
    if (!recorded) return;
    record({.action = TraceAction::kSegmentAlloc,
            .address = address(first),
            .size = kSlots * kSampleMiB,
            .stack = 0});
  }

  void release(size_t which, bool complete) {
    const size_t index = live_[which];
    Slot& slot = slots_[index];
    live_[which] = live_.back();
    live_.pop_back();
    // A free without a recorded stack has no frames key.
    record(
        {.action = TraceAction::kFreeRequested, .address = address(index), .size = slot.requested});
    if (!complete) {
      slot.pending = true;
      return;
    }
    record(
        {.action = TraceAction::kFreeCompleted, .address = address(index), .size = slot.requested});
    bytes_ -= slot.requested;
    slot = {};
    free_.push_back(index);
  }

  void peak() { sample_.peak_bytes = std::max(sample_.peak_bytes, bytes_); }

  void finish() {
    for (size_t first = 0; first < slots_.size(); first += kSlots) {
      Segment segment{.address = address(first), .total_size = kSlots * kSampleMiB, .stack = 0};
      for (size_t i = first; i < first + kSlots; ++i) {
        const Slot& slot = slots_[i];
        segment.requested_size += slot.requested;
        if (slot.live) segment.active_size += kSampleMiB;
        if (slot.live && !slot.pending) segment.allocated_size += kSampleMiB;
        segment.blocks.push_back({.address = address(i),
                                  .size = kSampleMiB,
                                  .requested_size = slot.requested,
                                  .state = !slot.live     ? BlockState::kInactive
                                           : slot.pending ? BlockState::kActivePendingFree
                                                          : BlockState::kActiveAllocated,
                                  .stack = slot.stack});
      }
      sample_.snapshot.segments.push_back(segment);
    }
  }

  int64_t events_;
  SnapshotSample sample_;
  std::vector<Slot> slots_;
  std::vector<size_t> free_;
  std::vector<size_t> live_;
  int64_t bytes_ = 0;
  int64_t phase_ = -1;
  uint64_t random_ = 42;
};

}  // namespace

SnapshotSample make_sample(int64_t events) { return Maker(events).run(); }

}  // namespace headroom
