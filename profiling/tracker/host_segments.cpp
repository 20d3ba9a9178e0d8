#include "profiling/tracker/host_segments.h"

#include <algorithm>

namespace headroom {
namespace {

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;  // one past the last byte
};

// Disjoint and in order; overlapping ranges are merged.
std::vector<Range> merged(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> result;
  for (const Range& range : ranges) {
    if (!result.empty() && range.begin < result.back().end) {
      result.back().end = std::max(result.back().end, range.end);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

uint64_t end_of(const Block& block) { return block.address + static_cast<uint64_t>(block.size); }

void add_inactive(Segment& segment, uint64_t begin, uint64_t end) {
  if (begin == end) return;
  segment.blocks.push_back({.address = begin,
                            .size = static_cast<int64_t>(end - begin),
                            .state = BlockState::kInactive});
}

}  // namespace

std::vector<Segment> host_segments(std::vector<Block> live, const std::vector<TraceEvent>& trace) {
  std::vector<Range> used;
  used.reserve(live.size() + trace.size());
  for (const Block& block : live) used.push_back({block.address, end_of(block)});
  for (const TraceEvent& event : trace) {
    if (event.action != TraceAction::kAlloc && event.action != TraceAction::kFreeCompleted)
      continue;
    used.push_back({event.address, event.address + static_cast<uint64_t>(event.size)});
  }
  std::sort(live.begin(), live.end(),
            [](const Block& a, const Block& b) { return a.address < b.address; });
  std::vector<Segment> segments;
  auto block = live.begin();
  for (const Range& range : merged(std::move(used))) {
    const auto size = static_cast<int64_t>(range.end - range.begin);
    Segment segment{.address = range.begin, .total_size = size, .is_large = size > (1 << 20)};
    uint64_t covered = range.begin;
    for (; block != live.end() && block->address < range.end; ++block) {
      add_inactive(segment, covered, block->address);
      segment.blocks.push_back(*block);
      segment.allocated_size += block->size;
      covered = end_of(*block);
    }
    add_inactive(segment, covered, range.end);
    segment.active_size = segment.allocated_size;
    segment.requested_size = segment.allocated_size;
    segments.push_back(std::move(segment));
  }
  return segments;
}

}  // namespace headroom
