#include "profiling/snapshot_validate.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <utility>

namespace headroom {
namespace {

// Arguments one JavaScript call takes: it throws RangeError between 125,000 and 130,000.
constexpr uint64_t kLargestBatch = 125'000;
constexpr uint64_t kLargeFile = 500'000'000;       // bytes; browsers take minutes
constexpr uint64_t kTooLargeFile = 1'000'000'000;  // bytes; tabs run out of memory
constexpr size_t kManyEvents = 600'000;            // the event list of the viewer stalls
constexpr size_t kSegmentProblems = 20;            // listed one by one
constexpr uint64_t kUnsafeAddress = uint64_t{1} << 53;

std::string hex(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// Note [Replay backwards]
// Rationale: the file holds the final state and the events before it, so the only state from which
//   a replay can start is the last one. That is also how the viewer draws an earlier instant.
// Approach: undo events from the last to the first on an ordered map of live blocks and one of
//   segments; whatever cannot be undone is a contradiction between trace and final state.
// Limits: each contradiction is counted once where it is met; what follows from it may be counted
//   again under another heading.
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
                                     hex(found.address) + ")"});
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

void check_file(const PickleFacts& facts, std::vector<SnapshotProblem>& problems) {
  const auto add = [&](bool is_error, std::string text) {
    problems.push_back({is_error, std::move(text)});
  };
  if (facts.protocol > 4) {
    add(true, "pickle protocol " + std::to_string(facts.protocol) +
                  ": the viewer reads 2 to 4; write it with pickle.dump(snapshot, file, 4)");
  }
  if (facts.largest_batch > kLargestBatch) {
    add(true, "a list is written as one batch of " + std::to_string(facts.largest_batch) +
                  " items at byte " + std::to_string(facts.largest_batch_offset) +
                  ": the viewer stops with RangeError above " + std::to_string(kLargestBatch) +
                  "; load and dump it once with Python's pickle, which writes batches of 1000");
  }
  if (facts.big_integers > 0) {
    add(true, std::to_string(facts.big_integers) +
                  " integers have more than 8 bytes: the viewer cannot add them to other numbers");
  }
  if (facts.unsafe_integers > 0) {
    add(false, std::to_string(facts.unsafe_integers) +
                   " integers are beyond 2^53: the viewer rounds them, so addresses may collide");
  }
  if (facts.bytes >= kTooLargeFile) {
    add(false, "the file has " + std::to_string(facts.bytes / 1'000'000) +
                   " MB: browsers usually run out of memory from 1000 MB on");
  } else if (facts.bytes >= kLargeFile) {
    add(false, "the file has " + std::to_string(facts.bytes / 1'000'000) +
                   " MB: browsers need minutes from 500 MB on");
  }
}

void check_segment(const Segment& segment, std::vector<SnapshotProblem>& problems) {
  const std::string name =
      "device " + std::to_string(segment.device) + ": segment " + hex(segment.address);
  uint64_t next = segment.address;
  for (const Block& block : segment.blocks) {
    if (block.address != next) {
      problems.push_back({true, name + ": its blocks leave a gap or overlap at " + hex(next) +
                                    "; the viewer lays them end to end"});
      return;
    }
    if (block.size <= 0 || block.requested_size < 0 || block.requested_size > block.size) {
      problems.push_back({true, name + ": block " + hex(block.address) + " has size " +
                                    std::to_string(block.size) + " and requested size " +
                                    std::to_string(block.requested_size)});
      return;
    }
    next += static_cast<uint64_t>(block.size);
  }
  if (next != segment.address + static_cast<uint64_t>(segment.total_size)) {
    problems.push_back({true, name + ": its blocks have " + std::to_string(next - segment.address) +
                                  " bytes, the segment has " + std::to_string(segment.total_size)});
  }
}

void check_segments(const Snapshot& snapshot, std::vector<SnapshotProblem>& problems) {
  std::map<std::pair<int64_t, uint64_t>, const Segment*> by_address;
  const size_t already = problems.size();
  for (const Segment& segment : snapshot.segments) {
    if (problems.size() - already >= kSegmentProblems) {
      problems.push_back({true, "more segments are wrong than are listed here"});
      return;
    }
    check_segment(segment, problems);
    if (!by_address.emplace(std::make_pair(segment.device, segment.address), &segment).second) {
      problems.push_back({true, "device " + std::to_string(segment.device) +
                                    ": two segments start at " + hex(segment.address)});
    }
    if (segment.address + static_cast<uint64_t>(segment.total_size) > kUnsafeAddress) {
      problems.push_back({false, "segment " + hex(segment.address) + " lies beyond 2^53"});
    }
  }
  const Segment* before = nullptr;
  for (const auto& [key, segment] : by_address) {
    if (before != nullptr && before->device == segment->device &&
        before->address + static_cast<uint64_t>(before->total_size) > segment->address) {
      problems.push_back({true, "device " + std::to_string(segment->device) + ": segments " +
                                    hex(before->address) + " and " + hex(segment->address) +
                                    " overlap"});
    }
    before = segment;
  }
}

void check_traces(const Snapshot& snapshot, std::vector<SnapshotProblem>& problems) {
  size_t events = 0;
  for (const auto& trace : snapshot.device_traces) events += trace.size();
  if (events == 0 && snapshot.segments.empty()) {
    problems.push_back({true, "no events and no segments: recording was never switched on"});
  } else if (events == 0) {
    problems.push_back({false,
                        "the trace is empty: the viewer draws a flat line; recording was "
                        "not on, or nothing was allocated"});
  }
  if (events > kManyEvents) {
    problems.push_back({false, std::to_string(events) +
                                   " events: the viewer gets very slow above " +
                                   std::to_string(kManyEvents)});
  }
  for (const Segment& segment : snapshot.segments) {
    if (segment.device < 0 ||
        segment.device >= static_cast<int64_t>(snapshot.device_traces.size())) {
      problems.push_back({false, "device " + std::to_string(segment.device) +
                                     " has segments but no trace: the viewer does not show it"});
      break;
    }
  }
}

}  // namespace

std::vector<SnapshotProblem> validate_snapshot(const SnapshotFile& file) {
  std::vector<SnapshotProblem> problems = file.problems;
  check_file(file.facts, problems);
  check_segments(file.snapshot, problems);
  check_traces(file.snapshot, problems);
  for (size_t device = 0; device < file.snapshot.device_traces.size(); ++device) {
    Replay(file.snapshot, device, problems).run(file.snapshot.device_traces[device]);
  }
  std::stable_partition(problems.begin(), problems.end(),
                        [](const SnapshotProblem& problem) { return problem.is_error; });
  return problems;
}

std::vector<SnapshotProblem> validate_snapshot_file(const std::string& path) {
  try {
    std::vector<SnapshotProblem> problems = validate_snapshot(read_snapshot_file(path));
    for (SnapshotProblem& problem : problems) problem.text = path + ": " + problem.text;
    return problems;
  } catch (const std::exception& error) {
    return {{true, error.what()}};
  }
}

bool has_error(const std::vector<SnapshotProblem>& problems) {
  return std::any_of(problems.begin(), problems.end(),
                     [](const SnapshotProblem& problem) { return problem.is_error; });
}

}  // namespace headroom
