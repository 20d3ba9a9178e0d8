#include "profiling/report/page/snapshot_view.h"

#include <unordered_map>

#include "profiling/snapshot/analysis/readable_stack.h"
#include "profiling/snapshot/validate.h"
#include "text/json_line.h"

namespace headroom {
namespace {

using nlohmann::json;

// [readable, complete]
json frames_json(const Snapshot& snapshot) {
  json frames = json::array();
  for (const Frame& frame : snapshot.frames) {
    const std::string complete =
        frame.name + "\n" + frame.filename +
        (frame.line > 0 ? ":" + std::to_string(frame.line) : std::string());
    const std::string readable =
        frame.is_before_recording() ? frame.kBeforeRecording : readable_frame(frame);
    frames.push_back({readable, complete});
  }
  return frames;
}

// Each stack without the frames of libtorch and of others, as readable_stack() shows it: numbers of
// `texts`.
json program_stacks_json(const Snapshot& snapshot, json& texts) {
  std::unordered_map<std::string, size_t> numbers;
  json stacks = json::array();
  for (size_t i = 0; i < snapshot.stacks.size(); ++i) {
    json& stack = stacks.emplace_back(json::array());
    for (std::string& line : readable_stack(snapshot, static_cast<int32_t>(i))) {
      const auto [known, is_new] = numbers.try_emplace(std::move(line), numbers.size());
      if (is_new) texts.push_back(known->first);
      stack.push_back(known->second);
    }
  }
  return stacks;
}

json segments_json(const Snapshot& snapshot) {
  json segments = json::array();
  for (const Segment& segment : snapshot.segments) {
    segments.push_back({{"device", segment.device},
                        {"address", hex_address(segment.address)},
                        {"total", segment.total_size},
                        {"allocated", segment.allocated_size},
                        {"active", segment.active_size},
                        {"requested", segment.requested_size},
                        {"stream", hex_address(segment.stream)},
                        {"pool", {segment.pool_id[0], segment.pool_id[1]}},
                        {"large", segment.is_large},
                        {"expandable", segment.is_expandable},
                        {"blocks", segment.blocks.size()}});
  }
  return segments;
}

json annotations_json(const Snapshot& snapshot) {
  json annotations = json::array();
  for (const Annotation& annotation : snapshot.annotations) {
    annotations.push_back(
        {annotation.name, annotation.is_start, annotation.device, annotation.time_us});
  }
  return annotations;
}

json settings_json(const AllocatorSettings& settings) {
  return {{"PYTORCH_CUDA_ALLOC_CONF", settings.alloc_conf},
          {"max_split_size", settings.max_split_size},
          {"garbage_collection_threshold", settings.garbage_collection_threshold},
          {"expandable_segments", settings.expandable_segments},
          {"pinned_num_register_threads", settings.pinned_num_register_threads},
          {"release_lock_on_cudamalloc", settings.release_lock_on_cudamalloc},
          {"pinned_use_cuda_host_register", settings.pinned_use_cuda_host_register},
          {"graph_capture_record_stream_reuse", settings.graph_capture_record_stream_reuse},
          {"roundup_power2_divisions", settings.roundup_power2_divisions}};
}

json device_json(const DeviceHistory& history) {
  return {{"device", history.device},
          {"events", history.events},
          {"blocks", history.blocks},
          {"peak_bytes", history.peak_bytes},
          {"peak_event", history.peak_event},
          {"peak_reserved_bytes", history.peak_reserved_bytes},
          {"first_time_us", history.first_time_us},
          {"before_bytes", history.before_bytes},
          {"purposes", history.purposes}};
}

// Contradictions in the file. Warnings are about memory_viz, which this page replaces.
json problems_json(const SnapshotFile& file) {
  json problems = json::array();
  for (const SnapshotProblem& problem : validate_snapshot(file)) {
    if (problem.is_error) problems.push_back("Figures may be wrong: " + problem.text);
  }
  return problems;
}

}  // namespace

SnapshotView snapshot_view(const std::string& name, const SnapshotFile& file) {
  const Snapshot& snapshot = file.snapshot;
  SnapshotView view;
  json devices = json::array();
  for (size_t device = 0; device < snapshot.device_traces.size(); ++device) {
    DeviceHistory history = history_of(snapshot, device);
    if (history.events == 0 && history.blocks == 0) continue;
    devices.push_back(device_json(history));
    view.devices.push_back(std::move(history));
  }
  json texts = json::array();
  json program_stacks = program_stacks_json(snapshot, texts);
  view.json = json_line({{"name", name},
                         {"program_stacks", std::move(program_stacks)},
                         {"program_lines", std::move(texts)},
                         {"frames", frames_json(snapshot)},
                         {"stacks", snapshot.stacks},
                         {"labels", snapshot.labels},
                         {"segments", segments_json(snapshot)},
                         {"annotations", annotations_json(snapshot)},
                         {"settings", settings_json(snapshot.settings)},
                         {"problems", problems_json(file)},
                         {"devices", std::move(devices)}});
  return view;
}

}  // namespace headroom
