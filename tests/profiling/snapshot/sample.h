// A synthetic, consistent snapshot of any length: trace and final segments agree.
#pragma once

#include <cstdint>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

struct SnapshotSample {
  Snapshot snapshot;
  int64_t peak_bytes = 0;  // of device 0, counted during generation
};

// Device 0 has `events` events in steps of two phases, some blocks from before the recording, one
// block waiting for its free at the end, one out-of-memory event; device 1 has an empty trace.
SnapshotSample make_sample(int64_t events);

}  // namespace headroom
