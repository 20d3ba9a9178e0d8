// What one run is made of while it runs.
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

// Everything one run needs, and the number of the next step (which batch it sees).
struct Bench {
  const RunSpec& spec;
  torch::Device device = torch::Device(torch::kCPU);
  Memories memories = {};
  std::unique_ptr<RankWarnings> warnings = nullptr;  // with a grid, which warns when it goes, too
  std::unique_ptr<DeviceMesh> grid = nullptr;        // null: one rank
  std::unique_ptr<Step> step = nullptr;
  std::unique_ptr<Data> data = nullptr;
  std::unique_ptr<CheckpointSaver> saver = nullptr;  // null: no checkpoints are saved
  int64_t next_step = 0;
  OnProgress on_progress = {};
  Progress progress = {};
  std::chrono::steady_clock::time_point told = {};
  std::string during = "the start";         // what it is at, for people
  std::string failed_in = {};               // see FailedPhase
  std::optional<OutOfMemory> refused = {};  // the last allocation that was

  MemoryTracker& tracker() { return *memories.front().tracker; }
  // Notes: what was done otherwise than asked.
  void build(std::vector<std::string>* notes);
  // Says where in the run the next step is, and gives its batch.
  Batch begin_step(const char* what, int64_t index);
  // After a step, outside of what is timed: the checkpoint that may be due.
  void end_step();
  // After the last one.
  void end_run();
  // Before a stage (step 0) and before each of its steps; a step that soon follows another is not
  // worth a line.
  void tell(const char* stage, bool is_step = true);

 private:
  void save();
};

}  // namespace headroom
