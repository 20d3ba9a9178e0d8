// Live bytes by component at one instant of a Recording, and the last growth. No torch here.
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
  // The component with the most live bytes allocated in the innermost phase; "" = none.
  std::string grew;
};

// After events 0 .. event - 1. A phase that ends there, before another event, counts as open: a
// failure unwinds through it.
InstantBreakdown breakdown_at(const Recording& recording, const std::vector<Owned>& owned,
                              const std::vector<std::string>& roles, int64_t event);

}  // namespace headroom
