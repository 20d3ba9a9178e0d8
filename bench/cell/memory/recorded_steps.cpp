#include "bench/cell/memory/recorded_steps.h"

#include <algorithm>

#include "bench/cell/machine/device.h"

namespace headroom {
namespace {

// The categories and the allocator's rounding, if any: together the peak.
std::map<std::string, int64_t> categories_of(const StepRecording::Result& result) {
  std::map<std::string, int64_t> categories = result.attribution.categories;
  const int64_t rounding = result.peak.allocated - result.attribution.peak_bytes;
  if (rounding != 0) categories["allocator_rounding"] = rounding;
  return categories;
}

void fill_blocks(const Attribution& attribution, Record& record) {
  if (attribution.blocks.empty()) return;
  // A middle block: the first and the last are next to the embedding and the head.
  const BlockResidual& middle = attribution.blocks[attribution.blocks.size() / 2];
  record.residual_bytes_per_block = middle.bytes;
  record.residual_tensors_per_block = middle.tensors;
  record.saved_bytes = attribution.activation_bytes;
  if (std::all_of(attribution.blocks.begin(), attribution.blocks.end(),
                  [&](const BlockResidual& block) {
                    return block.bytes == middle.bytes && block.tensors == middle.tensors;
                  })) {
    return;
  }
  record.residual_blocks = attribution.blocks;
}

// For this rank of a mesh.
void fill_phase_ends(const Attribution& attribution, Record& record) {
  if (record.ranks.empty()) return;
  RankFigures& own = record.ranks.edit().front();
  for (const auto& [phase, live] : attribution.phase_ends) own.phase_ends[phase] = live;
}

void find_growth(const Snapshot& snapshot, Record& record) {
  if (record.trace_truncated) {
    record.notes.emplace_back("growth is not known: the trace is truncated (--max-entries)");
    return;
  }
  for (size_t device = 0; device < snapshot.device_traces.size(); ++device) {
    std::vector<Growth> places = growth_of(snapshot, device, record.spec.record_steps);
    if (!places.empty()) record.watched->growth = std::move(places);
  }
}

}  // namespace

RecordedSteps::RecordedSteps(Step& step, const Memories& memories, const RunSpec& spec,
                             std::string& failed_in)
    : step_(step),
      memories_(memories),
      spec_(spec),
      recording_(memories, {.stacks = spec.stacks, .max_entries = spec.max_entries}),
      phase_(failed_in, &recording_),
      names_(to_string(spec.optimizer), &phase_, &recording_),
      listening_(step, names_.scopes(), names_.tags()) {
  if (!spec.snapshot.empty() && spec.stacks == Stacks::kCpp) forward_calls_.emplace();
}

void RecordedSteps::run(const Batch& batch) {
  const Traffic before = traffic_of(step_);
  step_.run(batch);
  traffic_ = traffic_of(step_).since(before);
  synchronize(step_.device());
}

Snapshot RecordedSteps::finish(Record& record) {
  Snapshot snapshot;
  const bool wants_trace = !spec_.snapshot.empty() || record.watched.has_value();
  const auto results = recording_.finish(wants_trace ? &snapshot : nullptr);
  const StepRecording::Result& main = results.front();
  TORCH_CHECK(main.events > 0, "nothing was recorded: the allocator reported no event");
  record.recorded_peak = main.peak;
  record.trace_events = main.events;
  record.trace_truncated = main.truncated;
  record.categories_at_peak = categories_of(main);
  record.category_peaks = main.attribution.category_peaks;
  fill_phase_ends(main.attribution, record);
  fill_blocks(main.attribution, record);
  if (const int64_t bytes = main.attribution.recomputed_bytes; bytes > 0) {
    record.recomputed_bytes = bytes;
  }
  const PhasePeaks& peaks = recording_.peaks();
  for (size_t i = 1; i < memories_.size(); ++i) {
    SpaceFigures& space = record.spaces[memories_[i].name];
    space.peak = results[i].peak;
    space.phases = peaks.phases(i);
    if (results[i].events > 0) space.categories_at_peak = categories_of(results[i]);
  }
  fill_traffic(traffic_, record);
  if (!record.peak) {
    record.peak = record.recorded_peak;
    peaks.fill_phases(record);
  }
  if (record.peak->allocated != record.recorded_peak->allocated) {
    record.notes.push_back(
        "the recorded step peaked at " + std::to_string(record.recorded_peak->allocated) +
        " bytes, the measured steps at " + std::to_string(record.peak->allocated));
  }
  if (record.watched) find_growth(snapshot, record);
  return snapshot;
}

}  // namespace headroom
