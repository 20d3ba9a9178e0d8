// Limit on a run's host memory, ordinary and pinned together. No torch here.
#pragma once

#include <atomic>
#include <cstdint>

namespace headroom {

// Note [One budget of host memory]
// Rationale: pinned memory is host memory too; with a limit for each kind, a run could take twice
//   its limit.
// Approach: each allocator records its own bytes here and checks the other's: ordinary memory's
//   accounting (profiling/tracker/host_allocation_table.h), and the arenas of pinned memory
//   (host_arena.h).
// Limits: pinned memory outside the arenas is not counted. Two concurrent allocations may together
//   exceed the limit by one of them.
struct HostBudget {
  std::atomic<int64_t> limit = 0;  // bytes; 0 = none
  std::atomic<int64_t> ordinary = 0;
  std::atomic<int64_t> pinned = 0;

  bool lets(int64_t more) const {
    const int64_t most = limit;
    return most == 0 || more <= most - ordinary - pinned;
  }

  // One per process.
  static HostBudget& instance() {
    static HostBudget budget;
    return budget;
  }
};

}  // namespace headroom
