#include "bench/cell/run.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>

#include "bench/cell/card_watch.h"
#include "bench/cell/device.h"
#include "bench/cell/environment.h"
#include "bench/cell/losses.h"
#include "bench/cell/out_of_memory.h"
#include "bench/cell/recorded_steps.h"
#include "profiling/phases.h"
#include "profiling/snapshot/write.h"
#include "profiling/theory/rows.h"
#include "profiling/tracker/memory_tracker.h"
#include "train/build.h"
#include "train/data/data.h"
#include "train/data/weights.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

// Everything one run needs, and the number of the next step (which batch it sees).
struct Bench {
  const RunSpec& spec;
  torch::Device device = torch::Device(torch::kCPU);
  Memories memories = {};
  std::unique_ptr<Step> step = nullptr;
  std::unique_ptr<Data> data = nullptr;
  int64_t next_step = 0;
  OnProgress on_progress = {};
  Progress progress = {};
  Clock::time_point told = {};
  std::string during = "the start";         // what it is at, for people
  std::string failed_in = {};               // see FailedPhase
  std::optional<OutOfMemory> refused = {};  // the last allocation that was

  MemoryTracker& tracker() { return *memories.front().tracker; }
  // Says where in the run the next step is, and gives its batch.
  Batch begin_step(const char* what, int64_t index) {
    tell(what);
    during = std::string(what) + " step " + std::to_string(index + 1);
    return data->batch(next_step++);
  }
  // Before a stage (step 0) and before each of its steps; a step that soon follows another is not
  // worth a line.
  void tell(const char* stage, bool is_step = true) {
    constexpr auto kOften = std::chrono::milliseconds(200);
    if (!on_progress) return;
    const bool is_new = progress.stage != stage;
    if (!is_new && Clock::now() - told < kOften) return;
    progress.stage = stage;
    progress.step = is_step ? next_step + 1 : 0;
    on_progress(progress);
    told = Clock::now();
  }
};

// 0 = libtorch's choice, whatever a run before this one in the same process asked for.
void set_threads(int64_t threads) {
  static const int libtorchs_choice = at::get_num_threads();
  at::set_num_threads(threads > 0 ? static_cast<int>(threads) : libtorchs_choice);
}

void open_memories(Bench& bench, const RunOptions& options) {
  bench.memories = track_memories(bench.device, options.host_memory_bytes);
  for (const TrackedMemory& memory : bench.memories) {
    memory.tracker->on_refusal([&bench, &memory](const Refusal& refusal) {
      bench.refused = OutOfMemory{.memory = memory.name, .refusal = refusal};
    });
  }
  // What such a run left cached, and its peaks.
  bench.tracker().release_cached();
  bench.tracker().reset_peak();
}

void begin_telling(Bench& bench, const OnProgress& on_progress, const Record& record) {
  const RunSpec& spec = bench.spec;
  bench.on_progress = on_progress;
  bench.progress.device =
      is_virtual(spec) ? to_string(spec.device) : record.environment.value("device_name", "");
  bench.progress.steps = spec.warmup_steps + spec.measure_steps + spec.record_steps;
  bench.tell("building", /*is_step=*/false);
}

void build(Bench& bench, std::vector<std::string>* notes) {
  const RunSpec& spec = bench.spec;
  bench.during = "building the model";
  bench.step = build_step(spec, bench.device, notes);
  bench.during = "reading the tokens";
  const int64_t steps = spec.warmup_steps + spec.measure_steps + spec.record_steps;
  bench.data = std::make_unique<Data>(spec, model_config(spec).vocab_size, bench.device, steps);
}

void warm_up(Bench& bench) {
  FailedPhase phase(bench.failed_in);
  const Listening listening(*bench.step, &phase);
  for (int64_t i = 0; i < bench.spec.warmup_steps; ++i) {
    bench.step->run(bench.begin_step("warm-up", i));
  }
  synchronize(bench.device);
  bench.tracker().release_cached();
}

// Whether the snapshot shall say who made what is older than its first event.
bool wants_older_stacks(const RunSpec& spec) {
  return !spec.snapshot.empty() && spec.record_steps > 0 && spec.stacks == Stacks::kCpp;
}

// Timed steps. The batch is made outside the clock, and the loss is read outside it. Nothing of one
// step is alive in the next.
void measure(Bench& bench, Record& record) {
  PhasePeaks peaks({&bench.tracker()});
  FailedPhase phase(bench.failed_in, &peaks);
  const Listening listening(*bench.step, &phase);
  CardWatch watch(pci_bus_id(bench.device));
  const bool has_values = is_real(bench.device);  // else no time passes and every value is zero
  for (int64_t i = 0; i < bench.spec.measure_steps; ++i) {
    const Batch batch = bench.begin_step("measured", i);
    synchronize(bench.device);
    const auto begin = Clock::now();
    const torch::Tensor loss = bench.step->run(batch);
    synchronize(bench.device);
    if (!has_values) continue;
    record.step_ms.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    watch.look();
    if (loss.defined()) record.losses.push_back(loss.item<double>());
  }
  watch.fill(record);
  if (bench.spec.measure_steps > 0) {
    record.peak = peaks.overall(0);
    peaks.fill_phases(record);
  }
}

Snapshot record_steps(Bench& bench, Record& record) {
  RecordedSteps recorded(*bench.step, bench.memories, bench.spec, bench.failed_in);
  for (int64_t i = 0; i < bench.spec.record_steps; ++i) {
    recorded.run(bench.begin_step("recorded", i));
  }
  bench.tell("writing", /*is_step=*/false);
  return recorded.finish(record);
}

// Theory follows the device that really runs, which "auto" does not tell.
std::map<std::string, int64_t> prediction(RunSpec spec, torch::Device device) {
  spec.device = settled(spec.device, device);
  return predicted(spec);
}

std::string peak_phase_of(const Record& record) {
  std::string best;
  for (const std::string& name : record.phase_order) {
    const int64_t bytes = record.phases.at(name).allocated;
    if (best.empty() || bytes > record.phases.at(best).allocated) best = name;
  }
  return best;
}

// The last thing a run does: every figure is in the Record by now. A file that cannot be written
// does not cost the other one; the first refusal is thrown.
void write_files(const Bench& bench, const Snapshot& snapshot) {
  std::exception_ptr refusal;
  const auto attempt = [&](const std::string& path, const auto& write) {
    if (path.empty()) return;
    try {
      write(path);
    } catch (const std::exception&) {
      if (!refusal) refusal = std::current_exception();
    }
  };
  attempt(bench.spec.snapshot, [&](const std::string& path) { write_snapshot(snapshot, path); });
  attempt(bench.spec.save_weights,
          [&](const std::string& path) { save_weights(*bench.step->model(), path); });
  if (refusal) std::rethrow_exception(refusal);
}

void run_to_the_end(Bench& bench, const RunOptions& options, Record& record) {
  const RunSpec& spec = bench.spec;
  set_threads(spec.threads);
  bench.device = resolve_device(spec.device);
  record.environment = environment(bench.device);
  record.predicted = prediction(spec, bench.device);
  open_memories(bench, options);
  record.space = bench.memories.front().space;
  if (wants_older_stacks(spec)) bench.tracker().keep_stacks(true);
  begin_telling(bench, options.on_progress, record);
  build(bench, &record.notes);
  warm_up(bench);
  // Taking a stack costs time, which on a real device is measured now.
  if (wants_older_stacks(spec) && is_real(bench.device)) bench.tracker().keep_stacks(false);
  measure(bench, record);
  Snapshot snapshot;
  if (spec.record_steps > 0) snapshot = record_steps(bench, record);
  record.peak_phase = peak_phase_of(record);
  if (const int64_t skipped = bench.step->skipped_steps(); skipped > 0) {
    record.notes.push_back("optimizer steps skipped because FP16 gradients were not finite: " +
                           std::to_string(skipped) + " (warm-up included)");
  }
  note_losses(record);
  write_files(bench, snapshot);
  record.status = Status::kOk;
}

// Tells the allocator's trace in which scope it is.
class ScopeMarks final : public ScopeListener {
 public:
  explicit ScopeMarks(MemoryTracker& tracker) : tracker_(tracker) {}
  void on_scope(const Scope& scope, bool begins) override { tracker_.mark(scope, begins); }

 private:
  MemoryTracker& tracker_;
};

// Note [The snapshot of a refusal]
// Rationale: memory mostly runs out in the first step, long before the recorded ones, and a
//   snapshot without the stacks of what was alive answers nothing. Recording from the start would
//   slow down every step that is measured.
// Approach: the run is made once more with every allocation recorded from the first on, and the
//   recording stops inside the refusal, before the failing step frees anything.
// Limits: twice the time; a run that does not run out the second time (other programs on the card)
//   has no snapshot. cuBLAS workspaces of the first time are there from the start and have no
//   stack. Memories beside the model's own are not recorded.
std::optional<Snapshot> snapshot_of_refusal(const RunSpec& spec, const RunOptions& options) {
  Bench bench{.spec = spec, .device = resolve_device(spec.device)};
  open_memories(bench, options);
  MemoryTracker& tracker = bench.tracker();
  std::optional<Snapshot> snapshot;
  bool truncated = false;
  tracker.on_refusal([&](const Refusal&) {
    if (!snapshot) tracker.stop_recording(&snapshot.emplace(), &truncated);
  });
  tracker.start_recording({.stacks = spec.stacks, .max_entries = spec.max_entries});
  try {
    std::vector<std::string> notes;
    build(bench, &notes);
    ScopeMarks marks(tracker);
    const Listening listening(*bench.step, &marks);
    for (int64_t i = 0; i < spec.warmup_steps + spec.measure_steps + spec.record_steps; ++i) {
      if (i == spec.warmup_steps) tracker.release_cached();
      bench.step->run(bench.begin_step("repeated", i));
      synchronize(bench.device);
    }
  } catch (const std::exception&) {
    // As it did before; if it is another failure, there is no snapshot.
  }
  if (!snapshot) tracker.stop_recording(nullptr, &truncated);
  return snapshot;
}

// A note: the figures of the Record stand, whatever becomes of the file.
std::string write_snapshot_of_refusal(const RunSpec& spec, const RunOptions& options) {
  try {
    const std::optional<Snapshot> snapshot = snapshot_of_refusal(spec, options);
    if (!snapshot) return "no snapshot: the repeated run did not run out of this memory";
    write_snapshot(*snapshot, spec.snapshot);
    return spec.snapshot + " holds the moment memory ran out, in a repeated run";
  } catch (const std::exception&) {
    return "no snapshot of the moment memory ran out: " + current_failure().reason;
  }
}

void describe_out_of_memory(const Bench& bench, const Failure& failure, Record& record) {
  OutOfMemory moment = bench.refused.value_or(OutOfMemory{});
  moment.during = bench.during;
  moment.phase = bench.failed_in;
  record.reason =
      moment.during + (moment.phase.empty() ? "" : ", " + moment.phase) + ": " + failure.reason;
  if (!failure.advice.empty()) {
    record.notes.push_back("libtorch advises: " + failure.advice +
                           " (here: --alloc-conf expandable_segments:True)");
  }
  record.out_of_memory = std::move(moment);
}

}  // namespace

Record run(const RunSpec& spec, const RunOptions& options) {
  Record record;
  record.spec = spec;
  {
    Bench bench{.spec = spec};
    try {
      run_to_the_end(bench, options, record);
    } catch (const std::exception&) {
      const Failure failure = current_failure();
      record.status = failure.status;
      record.reason = failure.reason;
      if (failure.status == Status::kOom) describe_out_of_memory(bench, failure, record);
    }
  }
  if (record.status == Status::kOom && !spec.snapshot.empty()) {
    record.notes.push_back(write_snapshot_of_refusal(spec, options));
  }
  return record;
}

}  // namespace headroom
