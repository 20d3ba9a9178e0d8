#include "profiling/snapshot/analysis/reserved_ranges.h"

#include <iterator>
#include <vector>

namespace headroom {

void remove_range(ReservedRanges& ranges, uint64_t begin, int64_t size) {
  const uint64_t end = begin + static_cast<uint64_t>(size);
  auto range = ranges.upper_bound(begin);
  if (range != ranges.begin()) --range;
  while (range != ranges.end() && range->first < end) {
    const uint64_t range_begin = range->first;
    const uint64_t range_end = range_begin + static_cast<uint64_t>(range->second);
    if (range_end <= begin) {
      ++range;
      continue;
    }
    range = ranges.erase(range);
    if (range_begin < begin) ranges[range_begin] = static_cast<int64_t>(begin - range_begin);
    if (end < range_end) ranges[end] = static_cast<int64_t>(range_end - end);
  }
}

ReservedRanges reserved_before(const Snapshot& snapshot, size_t device) {
  ReservedRanges ranges;
  for (const Segment& segment : snapshot.segments) {
    if (segment.device == static_cast<int64_t>(device)) {
      ranges[segment.address] = segment.total_size;
    }
  }
  const std::vector<TraceEvent>& trace = snapshot.device_traces[device];
  for (auto event = trace.rbegin(); event != trace.rend(); ++event) {
    switch (event->action) {
      case TraceAction::kSegmentAlloc:
      case TraceAction::kSegmentMap:
        remove_range(ranges, event->address, event->size);
        break;
      case TraceAction::kSegmentFree:
      case TraceAction::kSegmentUnmap:
        ranges[event->address] = event->size;
        break;
      default:
        break;
    }
  }
  return ranges;
}

}  // namespace headroom
