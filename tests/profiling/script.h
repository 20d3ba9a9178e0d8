// A recording written by hand, event by event: addresses are small numbers, times are the events'
// numbers.
#pragma once

#include <string>
#include <vector>

#include "profiling/lifetimes.h"
#include "profiling/tracker/recording.h"

namespace headroom {

struct Script {
  int64_t now() const { return static_cast<int64_t>(recording.events.size()); }
  Script& before(uint64_t address, int64_t size) {
    recording.live_at_start.push_back({address, size});
    return *this;
  }
  Script& alloc(uint64_t address, int64_t size) {
    recording.events.push_back({TraceAction::kAlloc, address, size});
    return *this;
  }
  Script& free(uint64_t address) {
    recording.events.push_back({TraceAction::kFreeRequested, address, 0});
    recording.events.push_back({TraceAction::kFreeCompleted, address, 0});
    return *this;
  }
  Script& begin(const Scope& scope) { return mark(scope, true); }
  Script& end(const Scope& scope) { return mark(scope, false); }
  Script& mark(const Scope& scope, bool begins) {
    recording.marks.push_back({scope, begins, now()});
    return *this;
  }
  Script& tag(Category category, uint64_t address, const std::string& name = "") {
    owned.push_back({category, address, now(), name});
    return *this;
  }

  Recording recording;
  std::vector<Owned> owned;
};

}  // namespace headroom
