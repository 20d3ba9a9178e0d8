// The live blocks of a device, event by event. No torch here.
//
// A block lives from its alloc to its free_completed, with its requested bytes, as memory_viz
// counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

struct TracedBlock {
  int64_t size = 0;
  int64_t time_us = 0;
  int32_t stack = -1;
  int32_t label = -1;
  int32_t number = -1;  // free for the caller
  bool before_recording = false;
};
using TracedBlocks = std::unordered_map<uint64_t, TracedBlock>;  // by address

// Blocks live before the first event: the final state with every event undone.
TracedBlocks live_before(const Snapshot& snapshot, size_t device);

int64_t bytes_of(const TracedBlocks& live);

// Applies one event and returns the change of the live bytes.
int64_t apply(const TraceEvent& event, TracedBlocks& live);

struct DevicePeak {
  int64_t device = 0;
  int64_t bytes = 0;   // live
  int64_t event = -1;  // index of the alloc at the peak; -1: before the first event
};

// The device with the highest peak; without live bytes all zeros.
DevicePeak fullest_device(const Snapshot& snapshot);

// "gradients" for the label "gradients: lm_head.weight", also where the label is the frame of a
// block from before the recording; "" without a label.
std::string purpose_of(const Snapshot& snapshot, int32_t label, int32_t stack);

}  // namespace headroom
