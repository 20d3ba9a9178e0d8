// Whose bytes were live at the fullest instant of each phase, from a Recording. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/lifetimes.h"
#include "profiling/tracker/recording.h"

namespace headroom {

// Of one phase of the workload, the outermost around an event; of one that ran several times the
// fullest run.
struct PhaseBreakdown {
  std::string phase;
  int64_t peak_bytes = 0;  // requested bytes live at its fullest instant
  // By component, "actor parameters": the role, where the name it was claimed under begins with one
  // of them and a dot, and the category. No zeros; sums to peak_bytes.
  std::map<std::string, int64_t> components;
  // How it went: by component, what was live at the fullest instant of each of kInstants equal
  // shares of the phase's events. The highest sum of one instant is peak_bytes.
  std::map<std::string, std::vector<int64_t>> instants;
};
inline constexpr int64_t kInstants = 48;

// In the order in which they first began.
std::vector<PhaseBreakdown> phase_breakdowns(const Recording& recording,
                                             const std::vector<Owned>& owned,
                                             const std::vector<std::string>& roles);

}  // namespace headroom
