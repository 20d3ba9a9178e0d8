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
#include "bench/cell/out_of_memory.h"
#include "bench/cell/recorded_steps.h"
#include "profiling/phases.h"
#include "profiling/snapshot/write.h"
#include "profiling/theory/rows.h"
#include "profiling/tracker/memory_tracker.h"
#include "text/quantity.h"
#include "train/build.h"
#include "train/data/data.h"
#include "train/data/weights.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

// Everything one run needs, and the number of the next step (which batch it sees).
struct Bench {
  const RunSpec& spec;
  torch::Device device;
  Memories memories;
  std::unique_ptr<Step> step;
  std::unique_ptr<Data> data;
  int64_t next_step = 0;
  OnProgress on_progress = {};
  Progress progress = {};
  Clock::time_point told = {};

  MemoryTracker& tracker() { return *memories.front().tracker; }
  torch::Tensor run_step() {
    const Batch batch = data->batch(next_step++);
    return step->run(batch);
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

void warm_up(Bench& bench) {
  for (int64_t i = 0; i < bench.spec.warmup_steps; ++i) {
    bench.tell("warm-up");
    bench.run_step();
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
  const Listening listening(*bench.step, &peaks);
  CardWatch watch(pci_bus_id(bench.device));
  const bool has_values = is_real(bench.device);  // else no time passes and every value is zero
  for (int64_t i = 0; i < bench.spec.measure_steps; ++i) {
    bench.tell("measured");
    const Batch batch = bench.data->batch(bench.next_step++);
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
  if (spec.threads > 0) at::set_num_threads(static_cast<int>(spec.threads));
  bench.device = resolve_device(spec.device);
  record.environment = environment(bench.device);
  record.predicted = prediction(spec, bench.device);
  bench.memories = track_memories(bench.device, options.host_memory_bytes);
  record.space = bench.memories.front().space;
  const int64_t steps = spec.warmup_steps + spec.measure_steps + spec.record_steps;
  if (wants_older_stacks(spec)) bench.tracker().keep_stacks(true);
  bench.on_progress = options.on_progress;
  bench.progress.device =
      is_virtual(spec) ? to_string(spec.device) : record.environment.value("device_name", "");
  bench.progress.steps = steps;
  bench.tell("building", /*is_step=*/false);
  bench.step = build_step(spec, bench.device, &record.notes);
  bench.data = std::make_unique<Data>(spec, model_config(spec).vocab_size, bench.device, steps);
  warm_up(bench);
  // Taking a stack costs time, which on a real device is measured now.
  if (wants_older_stacks(spec) && is_real(bench.device)) bench.tracker().keep_stacks(false);
  measure(bench, record);
  Snapshot snapshot;
  if (spec.record_steps > 0) {
    RecordedSteps recorded(*bench.step, bench.memories, spec);
    for (int64_t i = 0; i < spec.record_steps; ++i) {
      bench.tell("recorded");
      recorded.run(bench.data->batch(bench.next_step++));
    }
    bench.tell("writing", /*is_step=*/false);
    snapshot = recorded.finish(record);
  }
  record.peak_phase = peak_phase_of(record);
  if (const int64_t skipped = bench.step->skipped_steps(); skipped > 0) {
    record.notes.push_back("optimizer steps skipped because FP16 gradients were not finite: " +
                           std::to_string(skipped) + " (warm-up included)");
  }
  write_files(bench, snapshot);
  record.status = Status::kOk;
}

}  // namespace

Record run(const RunSpec& spec, const RunOptions& options) {
  Record record;
  record.spec = spec;
  Bench bench{.spec = spec, .device = torch::Device(torch::kCPU)};
  try {
    run_to_the_end(bench, options, record);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    record.status = failure.status;
    record.reason = failure.reason;
  }
  if (record.status == Status::kOom && !bench.memories.empty()) {
    // How far it came: a figure a reader can compare with the card.
    const MemoryBytes live = bench.tracker().current();
    record.notes.push_back("live when memory ran out: " + format_bytes(live.allocated));
  }
  return record;
}

}  // namespace headroom
