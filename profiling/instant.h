// Whose bytes are live at one instant of a Recording, and whose have come of late. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/lifetimes.h"
#include "profiling/tracker/recording.h"

namespace headroom {

struct InstantBreakdown {
  std::map<std::string, int64_t> live;  // requested bytes by component: profiling/phase_breakdown.h
  // The component that has grown most, of what lives, since the innermost phase began; "" = none.
  std::string grew;
};

// When events 0 .. event - 1 have happened. A phase that ends there, before another event, is taken
// to be open still: what unwinds from a failure ends them so.
InstantBreakdown breakdown_at(const Recording& recording, const std::vector<Owned>& owned,
                              const std::vector<std::string>& roles, int64_t event);

}  // namespace headroom
