// The result of a tracker's recording: events and the scopes around them. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/snapshot/snapshot.h"
#include "train/hooks/scope.h"

namespace headroom {

// The begin or the end of a scope of the step, placed among the events.
struct Mark {
  Scope scope;
  bool begins = true;
  int64_t event_index = 0;  // events logged before it
  int64_t time_us = 0;
};

struct LiveBlock {
  uint64_t address = 0;
  int64_t size = 0;  // bytes as requested
};

struct Recording {
  std::vector<LiveBlock> live_at_start;
  std::vector<TraceEvent> events;  // all of them, even if the snapshot keeps fewer
  std::vector<Mark> marks;
};

}  // namespace headroom
