// One memory, watched: counters always, every allocation while recording. No torch here.
//
// host_tracker (our own allocator under libtorch's CPU tensors) and cuda_tracker (libtorch's
// caching allocator) keep the same table; pinned memory has counters only. All other code reads
// them through this interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiling/record/record.h"
#include "profiling/snapshot/snapshot.h"
#include "profiling/tracker/recording.h"
#include "train/settings/memory_space.h"

namespace headroom {

struct RecordingOptions {
  Stacks stacks = Stacks::kCpp;
  int64_t max_entries = 1000000;  // newest events kept in the snapshot
};

class MemoryTracker {
 public:
  virtual ~MemoryTracker() = default;

  virtual MemoryBytes current() const = 0;
  virtual MemoryBytes peak() const = 0;  // highest of each counter since reset_peak()
  virtual void reset_peak() = 0;
  virtual void release_cached() = 0;  // gives unused cached memory back to the device

  // Called for each refused allocation at that moment, on the requesting thread, before anything is
  // freed. One listener at a time; never called if the memory gives no notice.
  virtual void on_refusal(std::function<void(const Refusal& refusal)> /*listener*/) {}

  // While on, blocks keep the stack of their allocation though nothing is recorded: a later
  // recording then has the stacks of earlier blocks. Starting or ending a recording switches it
  // off.
  virtual void keep_stacks(bool /*keep*/) {}
  virtual void start_recording(const RecordingOptions& options) = 0;
  virtual void mark(const Scope& scope, bool begins) = 0;  // only while recording
  virtual int64_t events() const = 0;                      // logged so far
  // Ends the recording. `snapshot` gets the memory_viz form; `truncated` is set if it lost events:
  // the oldest beyond max_entries, or one without memory to log it.
  virtual Recording stop_recording(Snapshot* snapshot, bool* truncated) = 0;
};

// Tracks CPU tensors from this call on. At most one per process. Bytes are as requested: the host
// allocator rounds nothing and caches nothing, so allocated, reserved and requested are one figure.
// An allocation beyond limit_bytes (0 = none) throws c10::OutOfMemoryError.
std::unique_ptr<MemoryTracker> make_host_tracker(int64_t limit_bytes);

// libtorch's CUDA caching allocator on one device.
std::unique_ptr<MemoryTracker> make_cuda_tracker(int device_index);

// Host memory that libtorch's caching allocator holds pinned for CUDA, in use or cached, in powers
// of two: allocated, reserved and requested are one figure. Counters only.
std::unique_ptr<MemoryTracker> make_pinned_tracker();

// The memories of one run. The first is the model's.
struct TrackedMemory {
  std::string name;  // as in the Record: "device", "host", "host_pinned"
  MemorySpace space = MemorySpace::kDevice;
  std::unique_ptr<MemoryTracker> tracker;
};
using Memories = std::vector<TrackedMemory>;

}  // namespace headroom
