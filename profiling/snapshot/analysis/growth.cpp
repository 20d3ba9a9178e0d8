#include "profiling/snapshot/analysis/growth.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiling/snapshot/analysis/live_blocks.h"
#include "profiling/snapshot/analysis/phase_times.h"
#include "profiling/snapshot/analysis/readable_stack.h"

namespace headroom {
namespace {

using Key = std::tuple<std::string, std::string, std::vector<std::string>>;

// The begin of the second step; 0 if there is none.
int64_t second_step_us(const std::vector<Annotation>& annotations, int64_t device, int64_t steps) {
  std::vector<int64_t> begins;
  const std::string* first = nullptr;
  for (const Annotation& annotation : annotations) {
    const bool elsewhere = annotation.device >= 0 && annotation.device != device;
    if (!annotation.is_start || elsewhere) continue;
    if (first == nullptr) first = &annotation.name;
    if (annotation.name == *first) begins.push_back(annotation.time_us);
  }
  const size_t runs = begins.size() / static_cast<size_t>(steps);  // runs of that phase per step
  return runs == 0 || runs == begins.size() ? 0 : begins[runs];
}

// Allocations before that time that are never freed.
std::vector<const TraceEvent*> survivors(const std::vector<TraceEvent>& trace, int64_t before_us) {
  std::unordered_map<uint64_t, const TraceEvent*> live;
  for (const TraceEvent& event : trace) {
    if (event.action == TraceAction::kFreeCompleted) {
      live.erase(event.address);
    } else if (event.action == TraceAction::kAlloc && event.time_us < before_us) {
      live[event.address] = &event;
    }
  }
  std::vector<const TraceEvent*> found;
  found.reserve(live.size());
  for (const auto& [address, event] : live) found.push_back(event);
  return found;
}

}  // namespace

std::vector<Growth> growth_of(const Snapshot& snapshot, size_t device, int64_t steps) {
  if (device >= snapshot.device_traces.size() || steps < 2) return {};
  const auto ordinal = static_cast<int64_t>(device);
  const PhaseTimes phases(snapshot.annotations, ordinal);
  const int64_t before_us = second_step_us(snapshot.annotations, ordinal, steps);
  std::map<Key, Growth> places;
  for (const TraceEvent* event : survivors(snapshot.device_traces[device], before_us)) {
    Growth made{.phase = phases.at(event->time_us),
                .purpose = purpose_of(snapshot, event->label, -1),
                .stack = readable_stack(snapshot, event->stack)};
    Growth& place = places.try_emplace({made.phase, made.purpose, made.stack}, made).first->second;
    place.bytes += event->size;
    ++place.count;
  }
  std::vector<Growth> all;
  for (auto& [key, place] : places) all.push_back(std::move(place));
  std::stable_sort(all.begin(), all.end(),
                   [](const Growth& a, const Growth& b) { return a.bytes > b.bytes; });
  return all;
}

}  // namespace headroom
