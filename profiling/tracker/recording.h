// What a tracker heard while recording: allocator events and the scopes around them. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Why an operation allocated, when the allocation alone does not tell.
enum class Hint : uint8_t { kNone, kCastOfParameter };

struct LoggedEvent {
  TraceEvent event;
  Hint hint = Hint::kNone;
};

// The start or end of a named scope ("forward", "block", ...), placed among the events.
struct Mark {
  std::string name;
  bool is_start = true;
  int64_t event_index = 0;  // events logged before it
  int64_t time_us = 0;
};

struct LiveBlock {
  uint64_t address = 0;
  int64_t size = 0;  // bytes as requested
};

struct Recording {
  std::vector<LiveBlock> live_at_start;
  std::vector<LoggedEvent> events;  // all of them, whatever the snapshot keeps
  std::vector<Mark> marks;
};

}  // namespace headroom
