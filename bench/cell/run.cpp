#include "bench/cell/run.h"

#include <ATen/Parallel.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>

#include "bench/cell/as_new.h"
#include "bench/cell/bench.h"
#include "bench/cell/generation_clock.h"
#include "bench/cell/losses.h"
#include "bench/cell/machine/card_watch.h"
#include "bench/cell/machine/device.h"
#include "bench/cell/machine/environment.h"
#include "bench/cell/memory/dry_run_names.h"
#include "bench/cell/memory/out_of_memory.h"
#include "bench/cell/memory/recorded_steps.h"
#include "bench/cell/memory/refusal_snapshot.h"
#include "bench/cell/ranks/rank_traffic.h"
#include "bench/cell/ranks/rank_weights.h"
#include "model/torch.h"
#include "profiling/phases.h"
#include "profiling/snapshot/write.h"
#include "profiling/theory/activations/layers/attention_kernel.h"
#include "profiling/theory/rows.h"
#include "train/data/weights.h"
#include "train/hooks/listening.h"
#include "train/kernels/step_graph.h"
#include "train/optim/optimizer.h"
#include "train/resume/own_tensors.h"

namespace headroom {
namespace {

// After an exception in oneDNN, such as an out-of-memory, libtorch stops using it
// (LinearAlgebra.cpp). A run starts with it enabled, like a new process.
void begin_with_onednn() { at::globalContext().setUserEnabledMkldnn(true); }

void note_onednn(Record& record) {
  if (at::globalContext().userEnabledMkldnn()) return;
  record.notes.emplace_back(
      "libtorch stopped using oneDNN in the middle of the run, after an exception in it, most "
      "likely from lack of memory");
}

void begin_telling(Bench& bench, const OnProgress& on_progress, const Record& record) {
  const RunSpec& spec = bench.spec;
  bench.on_progress = on_progress;
  bench.progress.device =
      is_virtual(spec) ? to_string(spec.device) : record.environment.value("device_name", "");
  bench.progress.steps = all_steps(spec);
  bench.tell("building", /*is_step=*/false);
}

void warm_up(Bench& bench) {
  FailedPhase phase(bench.failed_in);
  DryRunNames names(to_string(bench.spec.optimizer), &phase);
  const Listening listening(*bench.step, names.scopes(), names.tags());
  for (int64_t i = 0; i < bench.spec.warmup_steps; ++i) {
    bench.step->run(bench.begin_step("warm-up", i));
    bench.end_step();
  }
  synchronize(bench.device);
  bench.tracker().release_cached();
}

// True if the snapshot needs the stacks of allocations older than its first event.
bool wants_older_stacks(const RunSpec& spec) {
  return !spec.snapshot.empty() && spec.record_steps > 0 && spec.stacks == Stacks::kCpp;
}

// Timed steps. The batch is created and the loss read outside the timing. No tensor of a step
// survives into the next.
void measure(Bench& bench, Record& record) {
  PhasePeaks peaks({&bench.tracker()});
  std::optional<GenerationClock> clock;
  if (bench.spec.profile_type == Mode::kGenerate) {
    clock.emplace(bench.spec, bench.device, &peaks);
  }
  FailedPhase phase(bench.failed_in, clock ? static_cast<ScopeListener*>(&*clock) : &peaks);
  DryRunNames names(to_string(bench.spec.optimizer), &phase);
  const Listening listening(*bench.step, names.scopes(), names.tags());
  CardWatch watch(pci_bus_id(bench.device));
  const RankTraffic traffic(bench.device_mesh.get());
  const bool has_values = is_real(bench.device);  // else no time passes and every value is zero
  for (int64_t i = 0; i < bench.spec.measure_steps; ++i) {
    const Batch batch = bench.begin_step("measured", i);
    synchronize(bench.device);
    if (clock) clock->begin_step();
    const auto begin = std::chrono::steady_clock::now();
    const torch::Tensor loss = bench.step->run(batch);
    synchronize(bench.device);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (record.watched) record.watched->after_steps.push_back(bench.tracker().current());
    if (!has_values) continue;
    record.step_ms.push_back(time.count());
    watch.look();
    if (loss.defined()) record.losses.push_back(loss.item<double>());
    bench.end_step();
  }
  watch.fill(record);
  traffic.fill(record, bench.spec.measure_steps, bench.device);
  if (clock) record.generation = clock->figures();
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

// Each rank of a machine has its own card, in rank order.
torch::Device device_of_rank(torch::Device first) {
  if (!first.is_cuda()) return first;
  const int64_t cards = static_cast<int64_t>(torch::cuda::device_count());
  const auto index = static_cast<c10::DeviceIndex>(local_rank() % cards);
  c10::cuda::set_device(index);  // for allocations without an explicit device
  return {torch::kCUDA, index};
}

void predict_rank(const RunSpec& spec, Record& record) {
  RankFigures& own = record.ranks.edit().front();
  const PredictedRank predicted = predicted_of_rank(spec, own.rank);
  if (predicted.peak_allocated == 0) return;
  own.predicted_bytes = record.predicted["peak_allocated_bytes"] = predicted.peak_allocated;
  for (const auto& [kind, bytes] : predicted.moved) own.predicted_moved[kind] = bytes;
}

// Throws with our own text, because libtorch gives no reason on the CPU. Not for a real card, which
// may run the kernel.
void refuse_attention(const RunSpec& spec) {
  try {
    check_attention(spec);
  } catch (const UsageError& error) {
    throw UnsupportedAttention(error.what());
  }
}

// The theory needs the device that really runs, not "auto".
void predict(RunSpec spec, torch::Device device, Record& record) {
  spec.device = settled(spec.device, device);
  if (!attention_refusal(spec).empty()) return refuse_attention(spec);
  if (spec.mesh.ranks() > 1) return predict_rank(spec, record);
  if (!spec.step_graph) record.predicted = predicted(spec);
}

// The last action of a run: every figure is in the Record by now. A failed file does not prevent
// the others; the first failure is thrown.
void write_files(Bench& bench, const Snapshot& snapshot) {
  std::exception_ptr refusal;
  const auto attempt = [&](const std::string& path, const auto& write) {
    if (path.empty()) return;
    try {
      write(path);
    } catch (const std::exception&) {
      if (!refusal) refusal = std::current_exception();
    }
  };
  attempt(bench.spec.save_checkpoint, [&](const std::string&) { bench.end_run(); });
  attempt(bench.spec.snapshot, [&](const std::string& path) { write_snapshot(snapshot, path); });
  attempt(bench.spec.save_weights, [&](const std::string& path) {
    if (bench.device_mesh) return save_weights_of_ranks(*bench.step, *bench.device_mesh, path);
    save_weights(bench.step->weights(), path);
  });
  if (refusal) std::rethrow_exception(refusal);
}

// The card's memory in use outside libtorch's allocator: the CUDA context, NCCL's buffers.
void note_beside_allocator(torch::Device device, Record& record) {
  if (!device.is_cuda()) return;
  const auto [free, total] = c10::cuda::CUDACachingAllocator::get()->getMemoryInfo(device.index());
  const auto reserved = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index())
                            .reserved_bytes[0]  // of all sizes
                            .current;
  record.environment["beside_allocator_bytes"] = static_cast<int64_t>(total - free) - reserved;
}

// If every step was skipped, there are no states, although a normal run was predicted to have them.
void note_skipped_steps(const Step& step, Record& record) {
  const int64_t skipped = step.update->skipped_steps();
  if (skipped == 0) return;
  record.notes.push_back("optimizer steps skipped because FP16 gradients were not finite: " +
                         std::to_string(skipped) + " (warm-up included)");
  const std::vector<Optimizer*> optimizers = step.update->optimizers();
  const bool has_states = std::any_of(optimizers.begin(), optimizers.end(),
                                      [](const Optimizer* one) { return !one->state().empty(); });
  if (optimizers.empty() || has_states) return;
  record.predicted["optimizer_state"] = 0;
  record.notes.emplace_back(
      "every step was skipped: the optimizer has no states, and none are "
      "predicted");
}

void run_to_the_end(Bench& bench, const RunOptions& options, Record& record) {
  const RunSpec& spec = bench.spec;
  set_threads(spec.threads);
  begin_with_onednn();
  bench.device = resolve_device(spec.device);
  if (spec.mesh.ranks() > 1) bench.device = device_of_rank(bench.device);
  record.environment = environment(bench.device);
  if (spec.mesh.ranks() > 1) record.ranks = {RankFigures{.rank = launched(spec.mesh).rank}};
  predict(spec, bench.device, record);
  bench.memories = open_memories(bench.device, options.host_memory_bytes, bench.refused);
  record.space = bench.memories.front().space;
  if (wants_older_stacks(spec)) bench.tracker().keep_stacks(true);
  begin_telling(bench, options.on_progress, record);
  bench.build(&record.notes);
  warm_up(bench);
  // Taking a stack costs time, which is now measured on a real device.
  if (wants_older_stacks(spec) && is_real(bench.device)) bench.tracker().keep_stacks(false);
  measure(bench, record);
  Snapshot snapshot;
  if (spec.record_steps > 0) snapshot = record_steps(bench, record);
  if (record.generation)
    record.generation->graph_pool_bytes = bench.step->schedule->graph_pool_bytes();
  if (bench.step->graph) record.graph_pool_bytes = bench.step->graph->pool_bytes();
  record.peak_phase = fullest_phase(record, &MemoryBytes::allocated);
  note_skipped_steps(*bench.step, record);
  note_onednn(record);
  note_losses(record);
  write_files(bench, snapshot);
  if (bench.device_mesh) note_beside_allocator(bench.device, record);
  if (bench.device_mesh) bench.device_mesh->leave();
  record.status = Status::kOk;
}

void describe_out_of_memory(const Bench& bench, const Failure& failure, Record& record) {
  OutOfMemory moment = bench.refused.value_or(OutOfMemory{});
  moment.during = bench.during;
  moment.phase = bench.failed_in;
  // NCCL's allocations bypass libtorch's allocator.
  const bool of_nccl = failure.reason.find("NCCL error") != std::string::npos;
  if (moment.memory.empty() && of_nccl) moment.memory = "device";
  record.reason =
      moment.during + (moment.phase.empty() ? "" : ", " + moment.phase) + ": " + failure.reason;
  if (!failure.advice.empty()) {
    record.notes.push_back("libtorch advises: " + failure.advice +
                           " (here: --alloc-conf expandable_segments:True)");
  }
  record.out_of_memory = std::make_shared<const OutOfMemory>(std::move(moment));
}

}  // namespace

Record run(const RunSpec& spec, const RunOptions& options) {
  Record record;
  record.spec = spec;
  if (options.watches) record.watched.emplace();
  {
    Bench bench{.spec = spec};
    try {
      run_to_the_end(bench, options, record);
    } catch (const std::exception&) {
      const Failure failure = current_failure();
      record.status = failure.status;
      record.reason = failure.reason;
      const bool of_ranks = spec.mesh.ranks() > 1 && failure.status == Status::kFailed;
      if (of_ranks) record.reason = bench.during + ": " + record.reason;
      if (failure.status == Status::kOom) describe_out_of_memory(bench, failure, record);
    }
  }
  if (record.status == Status::kOom && !spec.snapshot.empty()) {
    record.notes.push_back(write_snapshot_of_refusal(spec, options.host_memory_bytes));
  }
  return record;
}

}  // namespace headroom
