// Work that was issued and that the host has not yet waited for: determines which events are done.
//
// Note [Late events]
// Rationale: the virtual card takes no time, so work could be done at any moment between its issue
//   and the host's next wait for it. libtorch queries this: a block used on another stream returns
//   to its pool when an event is done, and an asynchronous collective frees its memory when its
//   last event is. Done when issued is the earliest possible and gives the least memory; done only
//   when the host waits is the latest and gives the most.
// Approach: HEADROOM_VIRTUAL_EVENTS=late keeps a ticket for each piece of work of each stream. A
//   wait for a stream, an event, the device, or a blocking copy completes that work, the work
//   before it in its stream, and recursively all work it depends on in others (cudaStreamWaitEvent,
//   the default stream's order); so do cudaFree and the end of a communicator. Queries of anything
//   else return cudaErrorNotReady.
//   No query may fail for ever. If a thread that has issued work gets kMostRefusals refusals in a
//   row, without issuing anything between, the last query completes the work. For other threads
//   (ProcessGroupNCCL's watchdog queries every 100 ms and issues nothing) everything is done once
//   no thread has issued anything for kQuiet of host time. So a peak depends on the clock only if
//   the program pauses that long.
//   A card has finished long before a process ends. So at exit (exit handlers) everything is done,
//   and exit waits until refused threads that only query have queried again: a watchdog that
//   queries while libtorch is torn down aborts the process.
// Limits: a driver's launch queue is finite (the host then waits for the oldest); here it is not.
//   Callbacks on a stream run when issued, cudaFreeAsync frees at once, and a captured event is
//   done. Timing also decides which block a tensor gets, so where blocks are split the allocated
//   peak may be lower with late events, by MiB. An asynchronous collective's memory is freed at the
//   watchdog's next query: Note [A watchdog's period].
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace virtual_gpu {

using StreamSlot = uint32_t;  // of a stream; never reused

// All work issued on a stream up to a ticket; none for ticket 0.
struct Moment {
  StreamSlot slot = 0;
  uint64_t ticket = 0;
};

// A stream's relation to its device's default stream (CUDA runtime API, "stream synchronization
// behavior"): work of a blocking stream and of the default stream are ordered.
enum class StreamKind { kDefault, kBlocking, kNonBlocking };

// Not thread-safe: the lock of Streams guards it.
class PendingWork {
 public:
  StreamSlot add_stream(int device, StreamKind kind);
  // Work pending there stays pending.
  void remove_stream(StreamSlot slot);

  void issue(StreamSlot slot);
  // The next work on `slot` comes after `moment`.
  void wait(StreamSlot slot, Moment moment);
  // All work issued there so far, and its dependencies.
  Moment now(StreamSlot slot);

  bool is_done(Moment moment) const;
  void complete(Moment moment);
  void complete_device(int device);

 private:
  struct Edge {
    uint64_t at;  // the ticket that comes after `before`
    Moment before;
  };
  struct Work {
    int device;
    StreamKind kind;
    uint64_t issued = 0;
    uint64_t done = 0;
    std::deque<Edge> edges;                           // by `at`, without the completed ones
    std::unordered_map<StreamSlot, uint64_t> linked;  // last ticket that it comes after
  };
  void join_default(StreamSlot slot);

  std::vector<Work> streams_;
  std::map<int, StreamSlot> defaults_;               // by device
  std::map<int, std::vector<StreamSlot>> blocking_;  // by device
};

// When a query by a waiting thread returns "done": Note [Late events].
class PollingThreads {
 public:
  static constexpr int kMostRefusals = 1000;
  static constexpr std::chrono::milliseconds kQuiet{5000};
  explicit PollingThreads(std::chrono::milliseconds quiet = kQuiet) : quiet_(quiet) {}

  void issued();            // by the calling thread
  bool may_end();           // called on a query that is not ready: true = it is done now
  static bool only_asks();  // the calling thread has issued nothing

 private:
  std::chrono::milliseconds quiet_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace virtual_gpu
