#include "profiling/step_recording.h"

#include <utility>

#include "profiling/instant.h"
#include "profiling/labels.h"

namespace headroom {
namespace {

std::vector<MemoryTracker*> trackers_of(const Memories& memories) {
  std::vector<MemoryTracker*> trackers;
  for (const TrackedMemory& memory : memories) trackers.push_back(memory.tracker.get());
  return trackers;
}

}  // namespace

StepRecording::StepRecording(const Memories& memories, const RecordingOptions& options)
    : memories_(memories), peaks_(trackers_of(memories)), owned_(memories.size()) {
  memories_.front().tracker->start_recording(options);
  for (size_t i = 1; i < memories_.size(); ++i) {
    memories_[i].tracker->start_recording({.stacks = Stacks::kNone});
  }
}

void StepRecording::on_scope(const Scope& scope, bool begins) {
  peaks_.on_scope(scope, begins);
  for (const TrackedMemory& memory : memories_) memory.tracker->mark(scope, begins);
}

void StepRecording::tag(Category category, MemorySpace space, uint64_t address,
                        const std::string& name) {
  for (size_t i = 0; i < memories_.size(); ++i) {
    if (memories_[i].space != space) continue;
    owned_[i].push_back({category, address, memories_[i].tracker->events(), name});
  }
}

StepRecording::Instant StepRecording::now(size_t memory) const {
  return {memory, memories_[memory].tracker->events()};
}

std::vector<StepRecording::Result> StepRecording::finish(Snapshot* snapshot,
                                                         const std::vector<std::string>& roles,
                                                         const std::optional<Instant>& instant) {
  std::vector<Result> results;
  for (size_t i = 0; i < memories_.size(); ++i) {
    MemoryTracker& tracker = *memories_[i].tracker;
    Result& result = results.emplace_back();
    result.peak = peaks_.overall(i);
    result.events = tracker.events();
    Snapshot* const wanted = i == 0 ? snapshot : nullptr;
    const Recording recording = tracker.stop_recording(wanted, &result.truncated);
    result.attribution = attribute(recording, owned_[i]);
    if (!roles.empty()) result.phases = phase_breakdowns(recording, owned_[i], roles);
    if (instant && instant->memory == i) {
      InstantBreakdown found = breakdown_at(recording, owned_[i], roles, instant->event);
      result.live = std::move(found.live);
      result.grew = std::move(found.grew);
    }
    if (wanted != nullptr) label_blocks(*wanted, recording, lifetimes_of(recording, owned_[i]));
  }
  return results;
}

}  // namespace headroom
