// Two snapshots of the same program held against each other: did the allocator do the same thing?
// No torch here.
//
// Addresses and times differ between any two runs. What must not differ is what was asked and what
// was taken: the sequence of (action, size) of every event, and the segments at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

struct SnapshotTotals {
  int64_t events = 0;
  int64_t segments = 0;
  int64_t reserved_bytes = 0;   // of the segments at the end
  int64_t allocated_bytes = 0;  // of their active blocks
};

struct SnapshotDiff {
  SnapshotTotals a, b;
  // The first event at which the sequences part, counted from 0; nullopt = they are the same.
  std::optional<int64_t> first_difference;
  std::string event_a, event_b;  // what stands there: "alloc 5242880", "nothing"

  bool same() const;
};

SnapshotDiff diff_snapshots(const Snapshot& a, const Snapshot& b);

}  // namespace headroom
