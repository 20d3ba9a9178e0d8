// A test of a comparison, for CI: --fail-on. No torch here.
#pragma once

#include <optional>
#include <string>

#include "profiling/compare/comparison.h"

namespace headroom {

// Note [Tests of a gate]
// Rationale: a gate that fails by chance is switched off. Bytes are exact, so any growth counts;
//   times count only with a verdict.
// Approach: memory fails if a peak, allocated or reserved, grew by more than `memory` bytes, if a
//   cell that ran no longer runs, or if a cell of A is missing in B. time fails on a verdict SLOWER
//   by more than `time`. UNDECIDED does not fail.
// Limits: no claim that a slowdown is below `time`: that is the verdict SAME, or the interval.
struct Gate {
  std::optional<int64_t> memory;  // bytes
  std::optional<double> time;     // a share: 0.05
};

// "memory", "memory=64MiB", "time=5%" and both with a comma. Throws UsageError.
Gate parse_gate(const std::string& flag, const std::string& text);

// One line that names the first cell that fails, and the code where snapshots name it; "" if all
// pass.
std::string failure_of(const Comparison& comparison, const Gate& gate);
std::string failure_of(const SnapshotDivergence& divergence, const Gate& gate);

}  // namespace headroom
