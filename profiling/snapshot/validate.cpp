#include "profiling/snapshot/validate.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <map>
#include <utility>

#include "profiling/snapshot/analysis/replay.h"

namespace headroom {
namespace {

// Most arguments of one JavaScript call: RangeError begins between 125,000 and 130,000.
constexpr uint64_t kLargestBatch = 125'000;
constexpr uint64_t kLargeFile = 500'000'000;       // bytes; browsers take minutes
constexpr uint64_t kTooLargeFile = 1'000'000'000;  // bytes; tabs run out of memory
constexpr size_t kManyEvents = 600'000;            // the event list of the viewer stalls
constexpr size_t kSegmentProblems = 20;            // listed one by one
constexpr uint64_t kUnsafeAddress = uint64_t{1} << 53;

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
      "device " + std::to_string(segment.device) + ": segment " + hex_address(segment.address);
  uint64_t next = segment.address;
  for (const Block& block : segment.blocks) {
    if (block.address != next) {
      problems.push_back({true, name + ": its blocks leave a gap or overlap at " +
                                    hex_address(next) + "; the viewer lays them end to end"});
      return;
    }
    // A free block keeps the requested size of its last user, though it may have been split since.
    const bool asks_too_much =
        block.state != BlockState::kInactive && block.requested_size > block.size;
    if (block.size <= 0 || block.requested_size < 0 || asks_too_much) {
      problems.push_back({true, name + ": block " + hex_address(block.address) + " has size " +
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
                                    ": two segments start at " + hex_address(segment.address)});
    }
    if (segment.address + static_cast<uint64_t>(segment.total_size) > kUnsafeAddress) {
      problems.push_back({false, "segment " + hex_address(segment.address) + " lies beyond 2^53"});
    }
  }
  const Segment* before = nullptr;
  for (const auto& [key, segment] : by_address) {
    if (before != nullptr && before->device == segment->device &&
        before->address + static_cast<uint64_t>(before->total_size) > segment->address) {
      problems.push_back({true, "device " + std::to_string(segment->device) + ": segments " +
                                    hex_address(before->address) + " and " +
                                    hex_address(segment->address) + " overlap"});
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
    replay_backwards(file.snapshot, device, problems);
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
