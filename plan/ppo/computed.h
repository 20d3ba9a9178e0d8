// Theory's computation of an iteration, to compare with its measurement. No torch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiling/theory/iteration.h"

namespace headroom {

struct ComputedIteration {
  std::vector<PhasePeak> phases;      // in order of execution
  std::vector<std::string> left_out;  // flags that the computation ignores

  // nullptr if there is no such phase.
  const PhasePeak* find(const std::string& phase) const;
};

// Computed for a virtual card with shapes (Note [An iteration rehearsed]), without settings that
// theory does not model; nullopt on other devices. A second at most.
std::optional<ComputedIteration> computed_iteration(const RunSpec& shared, const PpoSetup& setup);

}  // namespace headroom
