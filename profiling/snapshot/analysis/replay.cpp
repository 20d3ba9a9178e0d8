#include "profiling/snapshot/analysis/replay.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <string>

namespace headroom {
namespace {

class Replay {
 public:
  Replay(const Snapshot& snapshot, size_t device, std::vector<SnapshotProblem>& problems)
      : device_(device), problems_(problems) {
    for (const Segment& segment : snapshot.segments) {
      if (segment.device != static_cast<int64_t>(device)) continue;
      segments_[segment.address] = {segment.total_size, segment.stream};
      for (const Block& block : segment.blocks) {
        if (block.state != BlockState::kInactive) live_[block.address] = block.requested_size;
      }
    }
  }

  void run(const std::vector<TraceEvent>& trace) {
    for (index_ = static_cast<int64_t>(trace.size()) - 1; index_ >= 0; --index_) {
      undo(trace[static_cast<size_t>(index_)]);
    }
    for (const auto& [text, found] : complaints_) {
      problems_.push_back({true, "device " + std::to_string(device_) + ": " +
                                     std::to_string(found.count) + " x " + text + " (last: event " +
                                     std::to_string(found.event) + ", address " +
                                     hex_address(found.address) + ")"});
    }
  }

 private:
  struct MappedSegment {
    int64_t size = 0;
    uint64_t stream = 0;
  };
  using Segments = std::map<uint64_t, MappedSegment>;
  struct Complaint {
    int64_t count = 0;
    int64_t event = 0;
    uint64_t address = 0;
  };

  void complain(const char* text, const TraceEvent& event) {
    Complaint& complaint = complaints_[text];
    if (complaint.count++ == 0) {
      complaint.event = index_;
      complaint.address = event.address;
    }
  }

  Segments::iterator segment_around(uint64_t address, int64_t size) {
    auto after = segments_.upper_bound(address);
    if (after == segments_.begin()) return segments_.end();
    --after;
    const bool inside = address + static_cast<uint64_t>(size) <=
                        after->first + static_cast<uint64_t>(after->second.size);
    return inside ? after : segments_.end();
  }

  void undo(const TraceEvent& event) {
    switch (event.action) {
      case TraceAction::kAlloc:
        return undo_alloc(event);
      case TraceAction::kFreeRequested:
        if (!live_.contains(event.address)) {
          complain(
              "a free is requested of a block that never completes it and is not live at "
              "the end; the viewer's state history stops",
              event);
        }
        return;
      case TraceAction::kFreeCompleted:
        return undo_free(event);
      case TraceAction::kSegmentAlloc:
      case TraceAction::kSegmentMap:
        return undo_segment_alloc(event);
      case TraceAction::kSegmentFree:
      case TraceAction::kSegmentUnmap:
        return undo_segment_free(event);
      case TraceAction::kSnapshot:
      case TraceAction::kOom:
        return;
    }
  }

  void undo_alloc(const TraceEvent& event) {
    const auto block = live_.find(event.address);
    if (block == live_.end()) {
      return complain("an allocation is neither freed in the trace nor live in the final segments",
                      event);
    }
    if (block->second != event.size) {
      complain("an allocation is freed, or live at the end, with another size", event);
    }
    live_.erase(block);
  }

  void undo_free(const TraceEvent& event) {
    if (!live_.emplace(event.address, event.size).second) {
      complain("a free completes at an address that is live afterwards with no allocation between",
               event);
    }
    if (segment_around(event.address, event.size) == segments_.end()) {
      complain("a block lies outside every segment of its time", event);
    }
  }

  void undo_segment_alloc(const TraceEvent& event) {
    const bool is_map = event.action == TraceAction::kSegmentMap;
    const uint64_t end = event.address + static_cast<uint64_t>(event.size);
    const auto around = segment_around(event.address, event.size);
    if (around == segments_.end() ||
        (!is_map && (around->first != event.address || around->second.size != event.size))) {
      return complain("a segment is allocated that is neither freed later nor there at the end",
                      event);
    }
    const auto block = live_.lower_bound(event.address);
    if (block != live_.end() && block->first < end) {
      complain("a block is live in a segment before the segment is allocated", event);
    }
    const uint64_t around_begin = around->first;
    const MappedSegment whole = around->second;
    const uint64_t around_end = around_begin + static_cast<uint64_t>(whole.size);
    segments_.erase(around);
    if (around_begin < event.address) {
      segments_[around_begin] = {static_cast<int64_t>(event.address - around_begin), whole.stream};
    }
    if (end < around_end) segments_[end] = {static_cast<int64_t>(around_end - end), whole.stream};
  }

  void undo_segment_free(const TraceEvent& event) {
    const uint64_t end = event.address + static_cast<uint64_t>(event.size);
    auto next = segments_.lower_bound(event.address);
    bool overlaps = next != segments_.end() && next->first < end;
    if (next != segments_.begin()) {
      const auto before = std::prev(next);
      overlaps |= before->first + static_cast<uint64_t>(before->second.size) > event.address;
    }
    if (overlaps) {
      return complain("a segment is freed that is still there afterwards", event);
    }
    auto added = segments_.emplace(event.address, MappedSegment{event.size, event.stream}).first;
    if (event.action != TraceAction::kSegmentUnmap) return;
    if (next != segments_.end() && next->first == end && next->second.stream == event.stream) {
      added->second.size += next->second.size;
      segments_.erase(next);
    }
    if (added == segments_.begin()) return;
    const auto before = std::prev(added);
    if (before->first + static_cast<uint64_t>(before->second.size) == added->first &&
        before->second.stream == event.stream) {
      before->second.size += added->second.size;
      segments_.erase(added);
    }
  }

  size_t device_;
  std::vector<SnapshotProblem>& problems_;
  std::map<uint64_t, int64_t> live_;  // requested bytes by address
  Segments segments_;
  std::map<std::string, Complaint> complaints_;
  int64_t index_ = 0;
};

}  // namespace

void replay_backwards(const Snapshot& snapshot, size_t device,
                      std::vector<SnapshotProblem>& problems) {
  Replay(snapshot, device, problems).run(snapshot.device_traces[device]);
}

}  // namespace headroom
