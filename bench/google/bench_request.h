// The request to headroom_bench: flags to cells. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

struct StepCase {
  std::string name;  // step/<size>/ctx<N>/<mode>/<precision>[/<field>:<value>...]
  RunSpec spec;
  bool fixed_iterations = true;  // spec.measure_steps of them; otherwise the library searches
};

struct BenchRequest {
  bool help = false;                       // nothing else is filled in
  std::vector<std::string> library_flags;  // "--benchmark_...=...", as typed
  std::vector<StepCase> cases;
  int64_t host_memory_bytes = 0;  // CPU tensors beyond it are refused; 0 = no limit
  double peak_flops = 0;          // FLOP/s; 0 = the table of profiling/flops.h
};

// Throws UsageError, one line. `has_card` determines the default grid and step counts.
BenchRequest parse_request(int argc, const char* const* argv, bool has_card);

// Without the library's help, which it prints itself.
std::string bench_help();

}  // namespace headroom
