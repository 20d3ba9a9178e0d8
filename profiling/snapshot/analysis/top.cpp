#include "profiling/snapshot/analysis/top.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiling/snapshot/analysis/phase_times.h"
#include "profiling/snapshot/analysis/readable_stack.h"

namespace headroom {
namespace {

struct Live {
  int64_t size = 0;
  int64_t time_us = 0;
  int32_t stack = -1;
  int32_t label = -1;
  bool before_recording = false;
};
using LiveBlocks = std::unordered_map<uint64_t, Live>;

// Blocks live before the first event: the final state with every event undone.
LiveBlocks live_before(const Snapshot& snapshot, size_t device) {
  LiveBlocks live;
  for (const Segment& segment : snapshot.segments) {
    if (segment.device != static_cast<int64_t>(device)) continue;
    for (const Block& block : segment.blocks) {
      if (block.state == BlockState::kInactive) continue;
      live[block.address] = {
          .size = block.requested_size, .stack = block.stack, .before_recording = true};
    }
  }
  const std::vector<TraceEvent>& trace = snapshot.device_traces[device];
  for (auto event = trace.rbegin(); event != trace.rend(); ++event) {
    if (event->action == TraceAction::kFreeCompleted) {
      // The event's stack is of the free. The allocation's stack was not recorded.
      live[event->address] = {.size = event->size, .label = event->label, .before_recording = true};
    } else if (event->action == TraceAction::kAlloc) {
      live.erase(event->address);
    }
  }
  return live;
}

// Applies one event and returns the change of the live bytes.
int64_t apply(const TraceEvent& event, LiveBlocks& live) {
  if (event.action == TraceAction::kAlloc) {
    Live& block = live[event.address];
    const int64_t change = event.size - block.size;
    block = {
        .size = event.size, .time_us = event.time_us, .stack = event.stack, .label = event.label};
    return change;
  }
  if (event.action == TraceAction::kFreeCompleted) {
    const auto block = live.find(event.address);
    if (block == live.end()) return 0;
    const int64_t size = block->second.size;
    live.erase(block);
    return -size;
  }
  return 0;
}

struct Peak {
  int64_t bytes = 0;
  int64_t event = -1;
};

Peak find_peak(const std::vector<TraceEvent>& trace, LiveBlocks live) {
  int64_t bytes = 0;
  for (const auto& [address, block] : live) bytes += block.size;
  Peak peak{.bytes = bytes};
  for (size_t i = 0; i < trace.size(); ++i) {
    bytes += apply(trace[i], live);
    if (bytes > peak.bytes) peak = {bytes, static_cast<int64_t>(i)};
  }
  return peak;
}

// "gradients: lm_head.weight" as "gradients": tensors of one kind are one row.
std::string purpose_of(const std::string& words) { return words.substr(0, words.find(": ")); }

// From its label, or from the frame of a block from before the recording.
std::string purpose_of(const Snapshot& snapshot, const Live& block) {
  if (block.label >= 0) return purpose_of(snapshot.labels[static_cast<size_t>(block.label)]);
  if (block.stack < 0) return "";
  const auto& stack = snapshot.stacks[static_cast<size_t>(block.stack)];
  if (stack.empty()) return "";
  const Frame& frame = snapshot.frames[static_cast<size_t>(stack.front())];
  return frame.is_before_recording() ? purpose_of(frame.name) : "";
}

using GroupKey = std::tuple<int64_t, bool, std::string, std::string, std::vector<std::string>>;

}  // namespace

namespace {

// The device with the highest peak; `live`: its blocks at the peak.
PeakReport find_peak_of_all(const Snapshot& snapshot, LiveBlocks& live) {
  PeakReport report;
  for (size_t device = 0; device < snapshot.device_traces.size(); ++device) {
    LiveBlocks before = live_before(snapshot, device);
    const Peak peak = find_peak(snapshot.device_traces[device], before);
    if (peak.bytes <= report.peak_bytes) continue;
    report = {
        .device = static_cast<int64_t>(device), .peak_bytes = peak.bytes, .event = peak.event};
    live = std::move(before);
  }
  if (report.peak_bytes == 0) return report;
  const std::vector<TraceEvent>& trace = snapshot.device_traces[static_cast<size_t>(report.device)];
  for (int64_t i = 0; i <= report.event; ++i) apply(trace[static_cast<size_t>(i)], live);
  report.events = static_cast<int64_t>(trace.size());
  report.live_count = static_cast<int64_t>(live.size());
  if (report.event >= 0) report.time_us = trace[static_cast<size_t>(report.event)].time_us;
  return report;
}

// Number of live blocks by their size and origin, the largest size first.
std::map<GroupKey, int64_t> groups_of(const Snapshot& snapshot, const LiveBlocks& live,
                                      const PhaseTimes& phases) {
  std::unordered_map<int32_t, std::vector<std::string>> readable;
  std::map<GroupKey, int64_t> groups;
  for (const auto& [address, block] : live) {
    auto stack = readable.find(block.stack);
    if (stack == readable.end()) {
      stack = readable.emplace(block.stack, readable_stack(snapshot, block.stack)).first;
    }
    ++groups[{-block.size, block.before_recording,
              block.before_recording ? "" : phases.at(block.time_us), purpose_of(snapshot, block),
              stack->second}];
  }
  return groups;
}

LiveAllocation row_of(const GroupKey& key, int64_t count, int64_t peak_bytes) {
  const auto& [negative_size, before_recording, phase, purpose, stack] = key;
  const int64_t bytes = -negative_size * count;
  return {.size = -negative_size,
          .count = count,
          .share = static_cast<double>(bytes) / static_cast<double>(peak_bytes),
          .phase = phase,
          .before_recording = before_recording,
          .purpose = purpose,
          .stack = stack};
}

}  // namespace

PeakReport largest_allocations(const Snapshot& snapshot, size_t limit, TopOrder order) {
  LiveBlocks live;
  PeakReport report = find_peak_of_all(snapshot, live);
  if (report.peak_bytes == 0) return report;
  const PhaseTimes phases(snapshot.annotations, report.device);
  if (report.event >= 0) report.phase = phases.at(report.time_us);
  for (const auto& [address, block] : live) {
    if (block.before_recording) report.before_recording_bytes += block.size;
  }
  for (const auto& [key, count] : groups_of(snapshot, live, phases)) {
    report.rows.push_back(row_of(key, count, report.peak_bytes));
  }
  if (order == TopOrder::kTotal) {
    std::stable_sort(report.rows.begin(), report.rows.end(),
                     [](const LiveAllocation& a, const LiveAllocation& b) {
                       return a.size * a.count > b.size * b.count;
                     });
  }
  if (limit != 0 && report.rows.size() > limit) report.rows.resize(limit);
  for (const LiveAllocation& row : report.rows) report.listed_bytes += row.size * row.count;
  return report;
}

}  // namespace headroom
