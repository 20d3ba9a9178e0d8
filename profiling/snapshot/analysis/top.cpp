#include "profiling/snapshot/analysis/top.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "profiling/snapshot/analysis/code_line.h"
#include "profiling/snapshot/analysis/live_blocks.h"
#include "profiling/snapshot/analysis/phase_times.h"
#include "profiling/snapshot/analysis/readable_stack.h"

namespace headroom {
namespace {

using GroupKey = std::tuple<int64_t, bool, std::string, std::string, std::vector<std::string>>;

// The device with the highest peak; `live`: its blocks at the peak.
PeakReport find_peak_of_all(const Snapshot& snapshot, TracedBlocks& live) {
  const DevicePeak peak = fullest_device(snapshot);
  PeakReport report = {.device = peak.device, .peak_bytes = peak.bytes, .event = peak.event};
  if (report.peak_bytes == 0) return report;
  const auto device = static_cast<size_t>(report.device);
  const std::vector<TraceEvent>& trace = snapshot.device_traces[device];
  live = live_before(snapshot, device);
  for (int64_t i = 0; i <= report.event; ++i) apply(trace[static_cast<size_t>(i)], live);
  report.events = static_cast<int64_t>(trace.size());
  report.live_count = static_cast<int64_t>(live.size());
  if (report.event >= 0) report.time_us = trace[static_cast<size_t>(report.event)].time_us;
  return report;
}

// Number of live blocks by their size and origin, the largest size first.
std::map<GroupKey, int64_t> groups_of(const Snapshot& snapshot, const TracedBlocks& live,
                                      const PhaseTimes& phases) {
  std::unordered_map<int32_t, std::vector<std::string>> readable;
  std::map<GroupKey, int64_t> groups;
  for (const auto& [address, block] : live) {
    auto stack = readable.find(block.stack);
    if (stack == readable.end()) {
      stack = readable.emplace(block.stack, readable_stack(snapshot, block.stack)).first;
    }
    ++groups[{-block.size, block.before_recording,
              block.before_recording ? "" : phases.at(block.time_us),
              purpose_of(snapshot, block.label, block.stack), stack->second}];
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
  TracedBlocks live;
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

LineAtPeak fullest_line(const Snapshot& snapshot) {
  TracedBlocks live;
  find_peak_of_all(snapshot, live);
  std::unordered_map<int32_t, int64_t> by_stack;
  for (const auto& [address, block] : live) {
    if (!block.before_recording) by_stack[block.stack] += block.size;
  }
  std::map<std::string, int64_t> by_line;
  for (const auto& [stack, bytes] : by_stack) by_line[code_line(snapshot, stack)] += bytes;
  by_line.erase("");
  LineAtPeak fullest;
  for (const auto& [line, bytes] : by_line) {
    if (bytes > fullest.bytes) fullest = {line, bytes};
  }
  return fullest;
}

}  // namespace headroom
