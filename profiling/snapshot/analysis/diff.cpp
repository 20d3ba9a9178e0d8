#include "profiling/snapshot/analysis/diff.h"

#include <algorithm>
#include <tuple>

namespace headroom {
namespace {

using Events = std::vector<const TraceEvent*>;

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
Events events_of(const Snapshot& snapshot) {
  Events events;
  for (const auto& trace : snapshot.device_traces) {
    for (const TraceEvent& event : trace) events.push_back(&event);
  }
  return events;
}

bool alike(const TraceEvent* one, const TraceEvent* other) {
  return one->action == other->action && one->size == other->size;
}

bool is_free(const TraceEvent* event) {
  return event->action == TraceAction::kFreeRequested ||
         event->action == TraceAction::kFreeCompleted;
}

// The same events with the frees of each row in an order of our own.
Events with_sorted_frees(Events events) {
  for (auto row = events.begin(); row != events.end();) {
    row = std::find_if(row, events.end(), is_free);
    const auto end = std::find_if_not(row, events.end(), is_free);
    std::sort(row, end, [](const TraceEvent* one, const TraceEvent* other) {
      return std::tie(one->action, one->size) < std::tie(other->action, other->size);
    });
    row = end;
  }
  return events;
}

bool equal(const Events& a, const Events& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), alike);
}

std::string text_of(const Events& events, size_t at) {
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
  const auto parting =
      std::mismatch(events_a.begin(), events_a.end(), events_b.begin(), events_b.end(), alike);
  const auto at = static_cast<size_t>(parting.first - events_a.begin());
  if (at == events_a.size() && at == events_b.size()) return diff;
  diff.frees_in_another_order = equal(with_sorted_frees(events_a), with_sorted_frees(events_b));
  if (diff.frees_in_another_order) return diff;
  diff.first_difference = static_cast<int64_t>(at);
  diff.event_a = text_of(events_a, at);
  diff.event_b = text_of(events_b, at);
  return diff;
}

}  // namespace headroom
