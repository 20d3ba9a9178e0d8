// The last steps of a run, with every allocation recorded: who holds the bytes at the peak.
#pragma once

#include <vector>

#include "profiling/attribution.h"
#include "profiling/phases.h"
#include "profiling/record.h"
#include "profiling/snapshot/snapshot.h"
#include "profiling/tracker/memory_tracker.h"
#include "train/step.h"

namespace headroom {

class RecordedSteps {
 public:
  // Starts recording.
  RecordedSteps(Step& step, MemoryTracker& tracker, const RunSpec& spec);

  void run(const Batch& batch);

  // Stops recording and attributes the peak. Fills recorded_peak, categories_at_peak, residual_*,
  // trace_* and, where nothing was measured before, peak. Returns what spec.snapshot is to hold;
  // empty where no snapshot is asked for.
  Snapshot finish(Record& record);

 private:
  void on_scope(const std::string& name, bool is_start);
  void claim(Category category, const std::vector<torch::Tensor>& tensors);
  void claim_workspaces();

  Step& step_;
  MemoryTracker& tracker_;
  const RunSpec& spec_;
  std::vector<torch::Tensor> parameters_;
  std::vector<Owned> owned_;
};

}  // namespace headroom
