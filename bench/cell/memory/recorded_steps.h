// The last steps of a run, with every allocation recorded, to attribute the peak's bytes.
#pragma once

#include <optional>

#include "bench/cell/memory/dry_run_names.h"
#include "bench/cell/memory/traffic.h"
#include "profiling/phases.h"
#include "profiling/record/record.h"
#include "profiling/snapshot/snapshot.h"
#include "profiling/step_recording.h"
#include "profiling/tracker/forward_calls.h"
#include "train/hooks/listening.h"
#include "train/step.h"

namespace headroom {

class RecordedSteps {
 public:
  // Starts recording. failed_in: see FailedPhase.
  RecordedSteps(Step& step, const Memories& memories, const RunSpec& spec, std::string& failed_in);

  void run(const Batch& batch);

  // Stops recording and attributes the peak. Fills recorded_peak, categories_at_peak, residual_*,
  // spaces, trace_* and, if nothing was measured before, peak and phases. Returns the content of
  // spec.snapshot; empty if neither a snapshot nor a trace was requested.
  Snapshot finish(Record& record);

 private:
  Step& step_;
  const Memories& memories_;
  const RunSpec& spec_;
  std::optional<ForwardCalls> forward_calls_;  // only with C++ stacks
  StepRecording recording_;
  FailedPhase phase_;
  DryRunNames names_;
  Listening listening_;
  Traffic traffic_;  // of the last step
};

}  // namespace headroom
