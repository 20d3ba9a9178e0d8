// What theory says of an iteration, beside which it was measured. No torch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiling/theory/iteration.h"

namespace headroom {

struct ComputedIteration {
  std::vector<PhasePeak> phases;      // in their order
  std::vector<std::string> left_out;  // flags that are not in the computation

  // nullptr where there is no such phase.
  const PhasePeak* find(const std::string& phase) const;
};

// Of a virtual card, gone through with shapes (Note [An iteration rehearsed]), what theory does not
// follow left out; nullopt on what is no virtual card. A second at most.
std::optional<ComputedIteration> computed_iteration(const RunSpec& shared, const PpoSetup& setup);

}  // namespace headroom
