// The memory of one cell in two results, to the byte. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiling/compare/cells.h"

namespace headroom {

// A figure that differs: part "phase", name "backward, allocated". Empty where a result lacks it.
struct DifferingFigure {
  std::string part, name;
  std::optional<int64_t> a, b;
};

struct MemoryDifference {
  std::optional<int64_t> peak_a, peak_b;  // allocated; empty for a failed run
  std::optional<int64_t> reserved_a, reserved_b;
  std::string status_a, status_b;        // "ok", "oom"
  std::vector<DifferingFigure> figures;  // all that differ: the peak first, then the causes
  std::vector<std::string> notes;        // results of one side that differ among themselves

  bool is_equal() const { return figures.empty() && status_a == status_b; }
};

// Note [Bytes are exact]
// Rationale: bytes have no noise. A difference of 512 B is one, whatever its share.
// Approach: every whole number of the newest Record of each side, except those of its settings,
//   environment and times, is compared by its place in the Record's JSON: a figure that a later
//   version adds is compared too. If settings differ, so do tensors of theory, by their rows.
// Limits: a benchmark of headroom_bench has one figure, its peak.
MemoryDifference compare_memory(const CellPair& pair);

}  // namespace headroom
