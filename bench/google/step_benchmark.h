// Training steps as Google Benchmarks. torch stays behind this header.
//
// Note [Benchmarks share a process]
// Rationale: Google Benchmark's loop, repetitions and statistics live in one process, and its users
//   expect its flags to mean what they mean elsewhere.
// Approach: the model of a benchmark is built when its first timed step is asked for, warmed up
//   once, kept over repetitions and freed before the next one is built. A cell that fails is
//   skipped with its reason.
// Limits: a crash, or a CUDA error that poisons the context, costs the cells after it as well;
//   caches of libtorch and the host allocator reach from one cell into the next. headroom sweep
//   runs a process per cell.
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
  // Registers every case with the library; adds device, build and formulas to its context. Throws
  // UnsupportedDevice (bench/cell/machine/device.h) when a case asks for a device this machine
  // lacks.
  explicit StepBenchmarks(BenchRequest request);
  ~StepBenchmarks();  // also takes the benchmarks out of the library
  StepBenchmarks(const StepBenchmarks&) = delete;
  StepBenchmarks& operator=(const StepBenchmarks&) = delete;

  void add_context() const;

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
