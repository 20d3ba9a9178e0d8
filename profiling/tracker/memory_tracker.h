// One memory, watched: counters always, every allocation while recording. No torch here.
//
// Two keep the same books: host_tracker (our own allocator under libtorch's CPU tensors) and
// cuda_tracker (libtorch's caching allocator); of pinned memory there are counters only. Everything
// above reads them through this interface.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiling/record.h"
#include "profiling/snapshot/snapshot.h"
#include "profiling/tracker/recording.h"
#include "train/memory_space.h"

namespace headroom {

struct RecordingOptions {
  Stacks stacks = Stacks::kCpp;
  int64_t max_entries = 1000000;  // events kept in the snapshot, the newest
};

class MemoryTracker {
 public:
  virtual ~MemoryTracker() = default;

  virtual MemoryBytes current() const = 0;
  virtual MemoryBytes peak() const = 0;  // highest of each since reset_peak()
  virtual void reset_peak() = 0;
  virtual void release_cached() = 0;  // gives unused cached memory back to the device

  // Who hears of each allocation that is refused: at that moment, on the thread that asked, before
  // anything is freed. One at a time; none where the memory cannot tell.
  virtual void on_refusal(std::function<void(const Refusal& refusal)> /*listener*/) {}

  // Whether blocks remember from now on who allocated them, though nothing is recorded: a recording
  // that comes later then knows it of what lived before. Recording, or ending it, ends this.
  virtual void keep_stacks(bool /*keep*/) {}
  virtual void start_recording(const RecordingOptions& options) = 0;
  virtual void mark(const Scope& scope, bool begins) = 0;  // only while recording
  virtual int64_t events() const = 0;                      // logged so far
  // Ends the recording. `snapshot` gets the memory_viz form; `truncated` whether it lost events:
  // the oldest to max_entries, or one that there was no memory to log.
  virtual Recording stop_recording(Snapshot* snapshot, bool* truncated) = 0;
};

// Allocations of CPU tensors, from this call on. At most one per process. Bytes are as requested:
// the host allocator rounds nothing and caches nothing, so allocated, reserved and requested are
// one figure. An allocation that would go beyond limit_bytes (0 = none) throws
// c10::OutOfMemoryError.
std::unique_ptr<MemoryTracker> make_host_tracker(int64_t limit_bytes);

// libtorch's CUDA caching allocator on one device.
std::unique_ptr<MemoryTracker> make_cuda_tracker(int device_index);

// Host memory that libtorch's caching allocator holds pinned for CUDA, in use or cached, in powers
// of two: allocated, reserved and requested are one figure. Counters only.
std::unique_ptr<MemoryTracker> make_pinned_tracker();

// The memories that one run uses. First the one where the model lives.
struct TrackedMemory {
  std::string name;  // as in the Record: "device", "host", "host_pinned"
  MemorySpace space = MemorySpace::kDevice;
  std::unique_ptr<MemoryTracker> tracker;
};
using Memories = std::vector<TrackedMemory>;

}  // namespace headroom
