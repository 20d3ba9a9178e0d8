// The table of CPU tensors: live bytes, their peak, their limit and the recording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "profiling/tracker/event_log.h"
#include "profiling/tracker/memory_tracker.h"
#include "profiling/tracker/stacks.h"

namespace headroom {

// Note [One lock for a host allocation]
// Rationale: threads that check the limit and then allocate could pass it together. A block that is
//   allocated but not booked would never be subtracted or freed.
// Approach: the check of the limit, the allocation and its entry in the table are under one lock.
//   If the entry fails, the block is freed. Nothing else happens under the lock: stacks are
//   captured there as program counters, and named after it is released.
// Limits: threads allocate one after another.
class HostAllocationTable {
 public:
  // One per process, never destroyed: tensors may outlive main().
  static HostAllocationTable& instance();

  // libtorch's own aligned allocation; nullptr for 0 bytes. Throws c10::OutOfMemoryError beyond the
  // limit.
  void* allocate(size_t size);
  void release(void* pointer) noexcept;

  void set_limit(int64_t bytes);  // of Note [One budget of host memory]; 0 = none
  int64_t live() const;           // bytes
  int64_t peak() const;           // most live bytes since reset_peak()
  void reset_peak();
  void on_refusal(std::function<void(const Refusal& refusal)> listener);

  // See MemoryTracker.
  void start(const RecordingOptions& options);
  void mark(const Scope& scope, bool begins) { log_.mark(scope, begins); }
  int64_t events() const { return log_.size(); }
  Recording stop(Snapshot* snapshot, bool* truncated);

 private:
  struct Live {
    int64_t size = 0;    // bytes
    int32_t stack = -1;  // in stacks_; -1 = allocated outside of a recording
  };

  HostAllocationTable() = default;
  // With the lock held:
  void enter(void* pointer, int64_t size);
  void log_release(void* pointer, int64_t size) noexcept;
  std::vector<Block> live_blocks() const;

  mutable std::mutex mutex_;
  std::unordered_map<void*, Live> live_;
  int64_t live_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  std::function<void(const Refusal& refusal)> on_refusal_;
  RecordingOptions options_;
  EventLog log_;
  StackTable stacks_;
  bool lost_a_release_ = false;  // in this recording: no memory to log it
};

}  // namespace headroom
