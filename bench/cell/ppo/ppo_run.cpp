#include "bench/cell/ppo/ppo_run.h"

#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/cell/as_new.h"
#include "bench/cell/machine/environment.h"
#include "bench/cell/memory/out_of_memory.h"
#include "bench/cell/ppo/ppo_bench.h"
#include "bench/cell/ppo/ppo_refusal.h"
#include "model/torch.h"
#include "profiling/phases.h"
#include "profiling/snapshot/write.h"
#include "profiling/step_recording.h"

namespace headroom {
namespace {

// Collects the phases that ended normally: the result of a failed iteration. Forwards every scope
// to `next`.
class FinishedPhases final : public ScopeListener {
 public:
  FinishedPhases(PpoBench& bench, ScopeListener* next) : phase_(bench.failed_in, next) {}

  void on_scope(const Scope& scope, bool begins) override {
    phase_.on_scope(scope, begins);
    if (begins || !scope.is_phase()) return;
    (std::uncaught_exceptions() > 0 ? failed_ : finished_).insert(scope.name);
  }

  void fill(const PhasePeaks& peaks, Record& record) const {
    record.phases = {};
    record.phase_runs = {};
    record.phase_order = {};
    for (const std::string& name : peaks.order()) {
      if (!finished_.contains(name) || failed_.contains(name)) continue;
      record.phases[name] = peaks.phases(0).at(name);
      record.phase_runs[name] = peaks.runs().at(name);
      record.phase_order.push_back(name);
    }
  }

 private:
  FailedPhase phase_;
  std::set<std::string> finished_, failed_;
};

// Phases finished before a failure stay in the Record. peaks: those that `next` measures.
IterationReport iterate(PpoBench& bench, const char* what, ScopeListener* next, MemoryTags* tags,
                        const PhasePeaks& peaks, Record& record) {
  FinishedPhases phases(bench, next);
  try {
    return bench.iterate(what, &phases, tags);
  } catch (...) {
    phases.fill(peaks, record);
    throw;
  }
}

// Marks the phases left from a failed warm-up.
void note_of_warm_up(Record& record) {
  if (record.phases.empty()) return;
  record.ppo->of_warm_up = true;
  record.notes.emplace_back(
      "the phases are those of the warm-up iteration, which begins without optimizer states; the "
      "computed memory is left out, as it is that of the next iteration");
}

void warm_up(PpoBench& bench, Record& record) {
  PhasePeaks peaks({&bench.tracker()});
  try {
    iterate(bench, "warm-up", &peaks, nullptr, peaks, record);
  } catch (...) {
    note_of_warm_up(record);
    throw;
  }
  bench.tracker().release_cached();
}

void measure(PpoBench& bench, Record& record) {
  PhasePeaks peaks({&bench.tracker()});
  const bool has_values = is_real(bench.device);  // else no time passes and every value is zero
  for (int64_t i = 0; i < bench.setup.iterations; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const IterationReport report = iterate(bench, "measured", &peaks, nullptr, peaks, record);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (!has_values) continue;
    record.step_ms.push_back(time.count());
    record.ppo->iterations.push_back({.score = report.score,
                                      .kl = report.kl,
                                      .reward = report.reward,
                                      .response_tokens = report.response_length});
  }
  record.peak = peaks.overall(0);
  peaks.fill_phases(record);
}

// True if the only measured iteration is also the recorded one: on a virtual card recording
// disturbs no times, and listeners take none of its memory.
bool measures_while_recording(const PpoBench& bench) {
  return !is_real(bench.device) && bench.setup.iterations == 1 && bench.shared.record_steps > 0;
}

void record_iteration(PpoBench& bench, Record& record) {
  const RunSpec& spec = bench.shared;
  // Only a snapshot needs stacks, and a decode of thousands of tokens has millions.
  const Stacks stacks = spec.snapshot.empty() ? Stacks::kNone : spec.stacks;
  StepRecording recording(bench.memories, {.stacks = stacks, .max_entries = spec.max_entries});
  const Traffic before = bench.traffic();
  const IterationReport report =
      iterate(bench, "recorded", &recording, &recording, recording.peaks(), record);
  record.ppo->packing = {.micro_batches = report.actor.micro_batches,
                         .tokens = report.actor.tokens,
                         .most_tokens = report.actor.most_tokens};
  fill_traffic(bench.traffic().since(before), record);
  if (measures_while_recording(bench)) {
    record.peak = recording.peaks().overall(0);
    recording.peaks().fill_phases(record);
  }
  Snapshot snapshot;
  const auto results =
      recording.finish(spec.snapshot.empty() ? nullptr : &snapshot, bench.role_words());
  const StepRecording::Result& main = results.front();
  record.recorded_peak = main.peak;
  record.trace_events = main.events;
  record.trace_truncated = main.truncated;
  record.categories_at_peak = main.attribution.categories;
  record.category_peaks = main.attribution.category_peaks;
  record.ppo->phases = main.phases;
  for (size_t i = 1; i < bench.memories.size(); ++i) {
    SpaceFigures& space = record.spaces[bench.memories[i].name];
    space.peak = results[i].peak;
    space.phases = recording.peaks().phases(i);
  }
  if (!spec.snapshot.empty()) write_snapshot(snapshot, spec.snapshot);
}

void run_to_the_end(PpoBench& bench, const RunOptions& options, Record& record) {
  set_threads(bench.shared.threads);
  bench.device = resolve_device(bench.shared.device);
  record.environment = environment(bench.device);
  bench.memories = open_memories(bench.device, options.host_memory_bytes, bench.refused);
  record.space = bench.memories.front().space;
  bench.build(&record.notes);
  warm_up(bench, record);
  if (!measures_while_recording(bench)) measure(bench, record);
  if (bench.shared.record_steps > 0) record_iteration(bench, record);
  record.peak_phase = fullest_phase(record, &MemoryBytes::allocated);
  record.status = Status::kOk;
}

}  // namespace

Record run_ppo(const RunSpec& shared, const PpoSetup& setup, const RunOptions& options) {
  Record record;
  record.spec = shared;
  record.ppo.emplace().setup = to_json(setup);
  std::optional<OutOfMemory> moment;
  {
    PpoBench bench{.shared = shared, .setup = setup};
    try {
      run_to_the_end(bench, options, record);
    } catch (const std::exception&) {
      const Failure failure = current_failure();
      record.status = failure.status;
      record.reason = failure.reason;
      if (failure.status == Status::kOom) moment = moment_of(bench);
    }
  }
  if (moment) describe_refusal(shared, setup, options, std::move(*moment), record);
  return record;
}

}  // namespace headroom
