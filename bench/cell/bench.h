// The state of a run.
#pragma once

#include <torch/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/cell/machine/device.h"
#include "bench/cell/ranks/rank_warnings.h"
#include "bench/launch/progress.h"
#include "profiling/record/record.h"
#include "profiling/tracker/memory_tracker.h"
#include "train/data/data.h"
#include "train/parallel/ranks/device_mesh.h"
#include "train/resume/checkpoint_saver.h"
#include "train/step.h"

namespace headroom {

// Everything a run needs, and the number of the next step, which selects its batch.
struct Bench {
  const RunSpec& spec;
  torch::Device device = torch::Device(torch::kCPU);
  Memories memories = {};
  std::unique_ptr<RankWarnings> warnings =
      nullptr;  // outlives the device_mesh, whose destructor warns
  std::unique_ptr<DeviceMesh> device_mesh = nullptr;  // null: one rank
  std::unique_ptr<Step> step = nullptr;
  std::unique_ptr<Data> data = nullptr;
  std::unique_ptr<CheckpointSaver> saver = nullptr;  // null: no checkpoints are saved
  int64_t next_step = 0;
  OnProgress on_progress = {};
  Progress progress = {};
  std::chrono::steady_clock::time_point told = {};
  std::string during = "the start";         // the current activity, for people
  std::string failed_in = {};               // see FailedPhase
  std::optional<OutOfMemory> refused = {};  // the last refused allocation

  MemoryTracker& tracker() { return *memories.front().tracker; }
  // Notes: deviations from the request.
  void build(std::vector<std::string>* notes);
  // Reports the next step's place in the run, and returns its batch.
  Batch begin_step(const char* what, int64_t index);
  // Called after a step, outside its timing: saves a checkpoint if one is due.
  void end_step();
  // Called after the last step.
  void end_run();
  // Called before a stage (step 0) and before each of its steps; a step soon after another is not
  // reported.
  void tell(const char* stage, bool is_step = true);

 private:
  void save();
};

}  // namespace headroom
