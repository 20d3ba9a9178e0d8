// Training steps as Google Benchmarks. This header does not include torch.
//
// Note [Benchmarks share a process]
// Rationale: Google Benchmark's loop, repetitions and statistics are in one process, and its users
//   expect its flags to have their usual meaning.
// Approach: the model of a benchmark is built before its first timed step, warmed up once, kept
//   over repetitions and freed before the next one is built. A cell that fails is skipped with its
//   reason.
// Limits: a crash, or a CUDA error that poisons the context, also loses the later cells; caches of
//   libtorch and the host allocator persist from one cell to the next. headroom sweep runs a
//   process per cell.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bench/google/bench_request.h"

namespace benchmark {
class State;
}

namespace headroom {

bool has_cuda_card();

class StepBenchmarks {
 public:
  // Registers every case with the library. Throws UnsupportedDevice
  // (bench/cell/machine/device.h) if a case requests a device that this machine lacks.
  explicit StepBenchmarks(BenchRequest request);
  ~StepBenchmarks();  // also unregisters the benchmarks
  StepBenchmarks(const StepBenchmarks&) = delete;
  StepBenchmarks& operator=(const StepBenchmarks&) = delete;

  void add_context() const;  // adds device, build and formulas to the library's context

  size_t ran() const { return ran_.size(); }
  size_t failed() const { return failed_.size(); }

 private:
  class Workbench;
  void run(benchmark::State& state, const StepCase& step_case);

  BenchRequest request_;
  std::unique_ptr<Workbench> workbench_;
  std::set<std::string> ran_;
  std::set<std::string> failed_;
};

}  // namespace headroom
