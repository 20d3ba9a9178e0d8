// Compares two snapshots of the same program: did the allocator do the same? No torch here.
//
// Addresses and times differ between any two runs. Requests and reserved memory must not differ:
// the sequence of (action, size) of all events, and the segments at the end.
//
// Frees in a row have no order: autocast drops its casts in the order of host addresses (a hash map
// keyed by them), which differs between two runs of one program. The allocator ends with the same
// blocks.
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
  bool frees_in_another_order = false;  // frees in a row, and nothing else
  // The index of the first event that differs, from 0; nullopt = none but such frees.
  std::optional<int64_t> first_difference;
  std::string event_a, event_b;  // the events there: "alloc 5242880", "nothing"

  bool same() const;
};

SnapshotDiff diff_snapshots(const Snapshot& a, const Snapshot& b);

}  // namespace headroom
