#include "profiling/snapshot/diff.h"

#include <algorithm>

namespace headroom {
namespace {

SnapshotTotals totals(const Snapshot& snapshot) {
  SnapshotTotals sum;
  for (const auto& trace : snapshot.device_traces) sum.events += static_cast<int64_t>(trace.size());
  for (const Segment& segment : snapshot.segments) {
    ++sum.segments;
    sum.reserved_bytes += segment.total_size;
    for (const Block& block : segment.blocks) {
      if (block.state == BlockState::kActiveAllocated) sum.allocated_bytes += block.size;
    }
  }
  return sum;
}

// Every device's events, one device after the other.
std::vector<const TraceEvent*> events_of(const Snapshot& snapshot) {
  std::vector<const TraceEvent*> events;
  for (const auto& trace : snapshot.device_traces) {
    for (const TraceEvent& event : trace) events.push_back(&event);
  }
  return events;
}

std::string text_of(const std::vector<const TraceEvent*>& events, size_t at) {
  if (at >= events.size()) return "nothing";
  return to_string(events[at]->action) + " " + std::to_string(events[at]->size);
}

}  // namespace

bool SnapshotDiff::same() const {
  return !first_difference && a.segments == b.segments && a.reserved_bytes == b.reserved_bytes &&
         a.allocated_bytes == b.allocated_bytes;
}

SnapshotDiff diff_snapshots(const Snapshot& a, const Snapshot& b) {
  SnapshotDiff diff{.a = totals(a), .b = totals(b)};
  const auto events_a = events_of(a);
  const auto events_b = events_of(b);
  const auto alike = [](const TraceEvent* one, const TraceEvent* other) {
    return one->action == other->action && one->size == other->size;
  };
  const auto parting =
      std::mismatch(events_a.begin(), events_a.end(), events_b.begin(), events_b.end(), alike);
  const auto at = static_cast<size_t>(parting.first - events_a.begin());
  if (at == events_a.size() && at == events_b.size()) return diff;
  diff.first_difference = static_cast<int64_t>(at);
  diff.event_a = text_of(events_a, at);
  diff.event_b = text_of(events_b, at);
  return diff;
}

}  // namespace headroom
