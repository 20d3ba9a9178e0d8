// The last steps of a run, with every allocation recorded: who holds the bytes at the peak.
#pragma once

#include "profiling/record.h"
#include "profiling/snapshot/snapshot.h"
#include "profiling/step_recording.h"
#include "train/step.h"

namespace headroom {

class RecordedSteps {
 public:
  // Starts recording.
  RecordedSteps(Step& step, const Memories& memories, const RunSpec& spec);

  void run(const Batch& batch);

  // Stops recording and attributes the peak. Fills recorded_peak, categories_at_peak, residual_*,
  // spaces, trace_* and, where nothing was measured before, peak and phases. Returns what
  // spec.snapshot is to hold; empty where no snapshot is asked for.
  Snapshot finish(Record& record);

 private:
  Step& step_;
  const Memories& memories_;
  const RunSpec& spec_;
  StepRecording recording_;
  Listening listening_;
};

}  // namespace headroom
