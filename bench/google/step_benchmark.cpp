#include "bench/google/step_benchmark.h"

#include <ATen/Parallel.h>
#include <ATen/cuda/CUDAContext.h>
#include <benchmark/benchmark.h>
#include <c10/core/Event.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "bench/cell/machine/device.h"
#include "bench/cell/machine/environment.h"
#include "bench/cell/memory/out_of_memory.h"
#include "model/torch.h"
#include "profiling/flops.h"
#include "profiling/tracker/memory_tracker.h"
#include "train/build.h"
#include "train/data/data.h"

namespace headroom {
namespace {

double seconds_on_card(Step& step, const Batch& batch) {
  const c10::Stream stream = at::cuda::getCurrentCUDAStream(step.device().index());
  // The backend's default records the time; libtorch's own does not.
  c10::Event begin(torch::kCUDA, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(torch::kCUDA, c10::EventFlag::BACKEND_DEFAULT);
  begin.record(stream);
  step.run(batch);
  end.record(stream);
  end.synchronize();
  return begin.elapsedTime(end) / 1e3;
}

// On a virtual card no kernel takes time: this is what the host needs to launch a step.
double seconds_on_host(Step& step, const Batch& batch) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  step.run(batch);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

// The only model in memory, and the memory trackers of the devices.
class StepBenchmarks::Workbench {
 public:
  explicit Workbench(int64_t host_memory_bytes)
      : host_memory_bytes_(host_memory_bytes), default_threads_(at::get_num_threads()) {}

  // Builds and warms up, unless the previous case was the same.
  void set_up(const StepCase& step_case) {
    if (step_ && name_ == step_case.name) return;
    clear();
    name_ = step_case.name;
    const RunSpec& spec = step_case.spec;
    const int64_t threads = spec.threads > 0 ? spec.threads : default_threads_;
    at::set_num_threads(static_cast<int>(threads));
    const torch::Device device = resolve_device(spec.device);
    guard_.emplace(device);
    tracker_ = &tracker_of(device);
    std::vector<std::string> notes;
    std::unique_ptr<Step> step = build_step(spec, device, &notes);
    for (const std::string& note : notes) {
      std::fprintf(stderr, "headroom_bench: %s: %s\n", name_.c_str(), note.c_str());
    }
    data_ = std::make_unique<Data>(spec, model_config(spec).vocab_size, device, 1);
    next_batch_ = 0;
    for (int64_t i = 0; i < spec.warmup_steps; ++i) step->run(data_->batch(next_batch_++));
    synchronize(device);
    tracker_->release_cached();
    step_ = std::move(step);
  }

  // Frees the model.
  void clear() {
    step_.reset();
    data_.reset();
    for (auto& [device, tracker] : trackers_) tracker->release_cached();
    guard_.reset();
  }

  // The next step; its batch is created before the timing starts.
  double timed_step() {
    const Batch batch = data_->batch(next_batch_++);
    const torch::Device device = step_->device();
    synchronize(device);
    const bool is_card = device.is_cuda() && is_real(device);
    return is_card ? seconds_on_card(*step_, batch) : seconds_on_host(*step_, batch);
  }

  MemoryTracker& tracker() { return *tracker_; }
  torch::Device device() const { return step_->device(); }

 private:
  MemoryTracker& tracker_of(torch::Device device) {
    auto& tracker = trackers_[device.str()];
    if (!tracker) tracker = make_tracker(device, host_memory_bytes_);
    return *tracker;
  }

  int64_t host_memory_bytes_;
  int default_threads_;
  std::map<std::string, std::unique_ptr<MemoryTracker>> trackers_;  // outlive every tensor
  MemoryTracker* tracker_ = nullptr;
  std::optional<c10::DeviceGuard> guard_;
  std::string name_;
  std::unique_ptr<Data> data_;
  std::unique_ptr<Step> step_;
  int64_t next_batch_ = 0;
};

namespace {

std::optional<double> peak_of(torch::Device device, Precision precision, double given) {
  if (given > 0) return given;
  if (!device.is_cuda()) return std::nullopt;
  return peak_flops(at::cuda::getDeviceProperties(device.index())->name, precision);
}

}  // namespace

bool has_cuda_card() { return torch::cuda::device_count() > 0; }

StepBenchmarks::StepBenchmarks(BenchRequest request)
    : request_(std::move(request)),
      workbench_(std::make_unique<Workbench>(request_.host_memory_bytes)) {
  for (const StepCase& step_case : request_.cases) resolve_device(step_case.spec.device);
  for (const StepCase& step_case : request_.cases) {
    auto* registered = benchmark::RegisterBenchmark(
        step_case.name.c_str(),
        [this, &step_case](benchmark::State& state) { run(state, step_case); });
    registered->UseManualTime();
    if (step_case.fixed_iterations) registered->Iterations(step_case.spec.measure_steps);
  }
}

StepBenchmarks::~StepBenchmarks() { benchmark::ClearRegisteredBenchmarks(); }

void StepBenchmarks::add_context() const {
  const RunSpec& spec = request_.cases.front().spec;
  const nlohmann::json facts = environment(resolve_device(spec.device));
  for (const char* key : {"build", "libtorch", "device_name", "cpu_capability", "time_utc"}) {
    benchmark::AddCustomContext(std::string("headroom_") + key, facts.at(key).get<std::string>());
  }
  benchmark::AddCustomContext("headroom_default_threads", facts.at("threads").dump());
  benchmark::AddCustomContext("headroom_first_spec", to_json(spec).dump());
  benchmark::AddCustomContext("flops_per_step", kFlopsFormula);
  benchmark::AddCustomContext("mfu", kMfuFormula);
}

void StepBenchmarks::run(benchmark::State& state, const StepCase& step_case) {
  const RunSpec& spec = step_case.spec;
  ran_.insert(step_case.name);
  try {
    workbench_->set_up(step_case);
    workbench_->tracker().reset_peak();
    double seconds = 0;
    for ([[maybe_unused]] auto _ : state) {
      const double step_seconds = workbench_->timed_step();
      state.SetIterationTime(step_seconds);
      seconds += step_seconds;
    }
    state.counters["peak_allocated_bytes"] =
        benchmark::Counter(static_cast<double>(workbench_->tracker().peak().allocated),
                           benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
    if (!is_real(workbench_->device())) {
      state.SetLabel("host time: a virtual card computes nothing");
      return;
    }
    // Plain figures, not rates: the library prints "/s" after a rate, which MFU is not.
    const double steps_per_second = static_cast<double>(state.iterations()) / seconds;
    const double flops =
        step_flops(model_config(spec), spec.batch_size, spec.context_length, spec.profile_type)
            .total() *
        steps_per_second;
    const auto tokens = static_cast<double>(spec.batch_size * spec.context_length);
    state.counters["tokens/s"] = tokens * steps_per_second;
    state.counters["FLOP/s"] = flops;
    if (const auto peak =
            peak_of(workbench_->device(), compute_precision(spec), request_.peak_flops)) {
      state.counters["MFU"] = flops / *peak;
    }
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    failed_.insert(step_case.name);
    workbench_->clear();
    state.SkipWithError((to_string(failure.status) + ": " + failure.reason).c_str());
  }
}

}  // namespace headroom
