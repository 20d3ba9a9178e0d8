// The memory history of one device of a snapshot, packed for the report's page. No torch here.
//
// Note [Packed history]
// Rationale: a page with a million events must open in two seconds and fit into an e-mail, and
// every
//   byte that it draws must be the allocator's.
// Approach: columns of varints (columns.h), in the order of `HistoryColumns` (history.cpp), then
//   deflated and in base64. Blocks are numbered in the order of their allocation; those of before
//   the recording come first. An alloc names its origin (size, stack, label, purpose) and its
//   address by number; a free says how many blocks before the newest its block was allocated. The
//   page adds up the sizes; this file replays the same events with the live set of all snapshot
//   commands, so the page can check its peak.
// Limits: the page holds numbers as doubles: sums are exact up to 2^53 bytes. Times that go
// backwards
//   are kept, and drawn at the latest time before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// One byte per event of the trace, so that the page's event numbers are the trace's.
enum class HistoryEvent : uint8_t {
  kNoChange,  // free_requested, snapshot, and a free of a block that is not live
  kAlloc,
  kFree,
  kReplace,  // an alloc at the address of a live block: an inconsistent trace
  kReserve,  // segment_alloc, segment_map
  kRelease,  // segment_free, segment_unmap
  kOom,
};

struct DeviceHistory {
  int64_t device = 0;
  int64_t events = 0;
  int64_t blocks = 0;  // that ever lived
  int64_t peak_bytes = 0;
  int64_t peak_event = -1;  // index of the alloc at the peak; -1: before the first event
  int64_t peak_reserved_bytes = 0;
  int64_t first_time_us = 0;
  int64_t before_bytes = 0;           // live before the first event
  std::vector<std::string> purposes;  // the origins name them by index; "" = not in the file
  std::string packed;
};

DeviceHistory history_of(const Snapshot& snapshot, size_t device);

}  // namespace headroom
