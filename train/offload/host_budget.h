// What of the host's memory a run may take, ordinary and pinned together. No torch here.
#pragma once

#include <atomic>
#include <cstdint>

namespace headroom {

// Note [One budget of host memory]
// Rationale: pinned memory is the host's like any other; two limits, one for each kind, would let
//   a run take twice what it was given.
// Approach: whoever allocates says what is taken and looks at what the other has taken: the books
//   of ordinary memory (profiling/tracker/host_books.h), the arenas of what is pinned
//   (host_arena.h).
// Limits: pinned memory of others than the arenas is not counted. Two that allocate at one time may
//   go beyond the limit together, by one allocation.
struct HostBudget {
  std::atomic<int64_t> limit = 0;  // bytes; 0 = none
  std::atomic<int64_t> ordinary = 0;
  std::atomic<int64_t> pinned = 0;

  bool lets(int64_t more) const {
    const int64_t most = limit;
    return most == 0 || more <= most - ordinary - pinned;
  }

  // Of this process.
  static HostBudget& instance() {
    static HostBudget budget;
    return budget;
  }
};

}  // namespace headroom
