#include "bench/cell/recorded_steps.h"

#include <ATen/cuda/CUDAContextLight.h>

#include <algorithm>

#include "bench/cell/device.h"

namespace headroom {

RecordedSteps::RecordedSteps(Step& step, MemoryTracker& tracker, const RunSpec& spec)
    : step_(step), tracker_(tracker), spec_(spec), parameters_(step.model()->parameters()) {
  tracker_.reset_peak();
  tracker_.start_recording({.stacks = spec.stacks, .max_entries = spec.max_entries});
  claim(Category::kParameters, parameters_);
  if (step_.optimizer) claim(Category::kOptimizerState, step_.optimizer->state());
}

void RecordedSteps::run(const Batch& batch) {
  const ScopeListener scopes(
      [this](const std::string& name, bool is_start) { on_scope(name, is_start); });
  const CastListener casts(tracker_, parameters_);
  claim(Category::kOther, {batch.tokens_BS, batch.targets_BS});
  step_.run(batch);
  synchronize(step_.device());
}

void RecordedSteps::on_scope(const std::string& name, bool is_start) {
  tracker_.mark(name, is_start);
  if (is_start) return;
  if (name == "backward") {
    std::vector<torch::Tensor> gradients;
    for (const torch::Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
    claim(Category::kGradients, gradients);
  } else if (name == "optimizer" && step_.optimizer) {
    claim(Category::kOptimizerState, step_.optimizer->state());
  }
}

void RecordedSteps::claim(Category category, const std::vector<torch::Tensor>& tensors) {
  const int64_t now = tracker_.events();
  for (const torch::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    owned_.push_back({category, reinterpret_cast<uint64_t>(tensor.storage().data()), now});
  }
}

// cuBLAS and cuBLASLt workspaces live in the caching allocator, keyed by handle and stream.
void RecordedSteps::claim_workspaces() {
  if (!step_.device().is_cuda()) return;
  const int64_t now = tracker_.events();
  for (auto* workspaces : {&at::cuda::cublas_handle_stream_to_workspace(),
                           &at::cuda::cublaslt_handle_stream_to_workspace()}) {
    const std::shared_lock lock(workspaces->mutex);
    for (const auto& [key, data] : workspaces->map) {
      owned_.push_back({Category::kWorkspaces, reinterpret_cast<uint64_t>(data.get()), now});
    }
  }
}

Snapshot RecordedSteps::finish(Record& record) {
  claim_workspaces();
  record.recorded_peak = tracker_.peak();
  Snapshot snapshot;
  const bool wants_snapshot = !spec_.snapshot.empty();
  record.trace_events = tracker_.events();
  TORCH_CHECK(record.trace_events > 0, "nothing was recorded: the allocator reported no event");
  const Recording recording =
      tracker_.stop_recording(wants_snapshot ? &snapshot : nullptr, &record.trace_truncated);
  const Attribution attribution =
      attribute(recording, owned_, spec_.profile_type != Mode::kForward);
  record.categories_at_peak = attribution.categories;
  record.category_peaks = attribution.category_peaks;
  if (const int64_t rounding = record.recorded_peak->allocated - attribution.peak_bytes;
      rounding != 0) {
    record.categories_at_peak["allocator_rounding"] = rounding;
  }
  if (!attribution.blocks.empty()) {
    // A middle block: the first and the last stand next to the embedding and the head.
    const BlockResidual& middle = attribution.blocks[attribution.blocks.size() / 2];
    record.residual_bytes_per_block = middle.bytes;
    record.residual_tensors_per_block = middle.tensors;
    record.saved_bytes = attribution.activation_bytes;
  }
  if (!record.peak) record.peak = record.recorded_peak;
  if (record.peak->allocated != record.recorded_peak->allocated) {
    record.notes.push_back(
        "the recorded step peaked at " + std::to_string(record.recorded_peak->allocated) +
        " bytes, the measured steps at " + std::to_string(record.peak->allocated));
  }
  return snapshot;
}

}  // namespace headroom
