#include "plan/ppo/computed.h"

#include <algorithm>

namespace headroom {

const PhasePeak* ComputedIteration::find(const std::string& phase) const {
  const auto found = std::find_if(phases.begin(), phases.end(),
                                  [&](const PhasePeak& peak) { return peak.phase == phase; });
  return found == phases.end() ? nullptr : &*found;
}

std::optional<ComputedIteration> computed_iteration(const RunSpec& shared, const PpoSetup& setup) {
  if (!is_virtual(shared)) return std::nullopt;
  return ComputedIteration{.phases = predicted_iteration(shared, setup),
                           .left_out = not_rehearsed(shared, setup)};
}

}  // namespace headroom
