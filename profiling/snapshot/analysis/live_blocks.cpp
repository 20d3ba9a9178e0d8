#include "profiling/snapshot/analysis/live_blocks.h"

#include <utility>

namespace headroom {
namespace {

DevicePeak peak_of_device(const Snapshot& snapshot, size_t device) {
  TracedBlocks live = live_before(snapshot, device);
  int64_t bytes = bytes_of(live);
  DevicePeak peak{.device = static_cast<int64_t>(device), .bytes = bytes};
  const std::vector<TraceEvent>& trace = snapshot.device_traces[device];
  for (size_t i = 0; i < trace.size(); ++i) {
    bytes += apply(trace[i], live);
    if (bytes <= peak.bytes) continue;
    peak.bytes = bytes;
    peak.event = static_cast<int64_t>(i);
  }
  return peak;
}

// "gradients: lm_head.weight" as "gradients": tensors of one kind are one row.
std::string kind_of(const std::string& words) { return words.substr(0, words.find(": ")); }

}  // namespace

TracedBlocks live_before(const Snapshot& snapshot, size_t device) {
  TracedBlocks live;
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

int64_t bytes_of(const TracedBlocks& live) {
  int64_t bytes = 0;
  for (const auto& [address, block] : live) bytes += block.size;
  return bytes;
}

int64_t apply(const TraceEvent& event, TracedBlocks& live) {
  if (event.action == TraceAction::kAlloc) {
    TracedBlock& block = live[event.address];
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

DevicePeak fullest_device(const Snapshot& snapshot) {
  DevicePeak fullest;
  for (size_t device = 0; device < snapshot.device_traces.size(); ++device) {
    const DevicePeak peak = peak_of_device(snapshot, device);
    if (peak.bytes > fullest.bytes) fullest = peak;
  }
  return fullest;
}

std::string purpose_of(const Snapshot& snapshot, int32_t label, int32_t stack) {
  if (label >= 0) return kind_of(snapshot.labels[static_cast<size_t>(label)]);
  if (stack < 0) return "";
  const auto& frames = snapshot.stacks[static_cast<size_t>(stack)];
  if (frames.empty()) return "";
  const Frame& frame = snapshot.frames[static_cast<size_t>(frames.front())];
  return frame.is_before_recording() ? kind_of(frame.name) : "";
}

}  // namespace headroom
