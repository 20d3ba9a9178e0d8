// Work that was issued and that the host has not waited for yet: which events are done.
//
// Note [Late events]
// Rationale: the virtual card takes no time, so work could be called done at any moment between its
//   issue and the host's next wait for it. libtorch asks: a block that another stream used goes
//   back to its pool when an event is done, and what an asynchronous collective holds is let go
//   when its last event is. Done when issued is the earliest a card could be, and gives the least
//   memory; done only when the host waits is the latest, and gives the most.
// Approach: HEADROOM_VIRTUAL_EVENTS=late keeps a ticket for each piece of work of each stream. A
//   wait for a stream, an event, the device, or a copy that blocks completes that work, what came
//   before it in its stream, and whatever it had to wait for in others (cudaStreamWaitEvent, the
//   default stream's order), all the way; so do cudaFree and the end of a communicator. Whoever
//   asks for anything else hears cudaErrorNotReady.
//   Nobody may ask for ever. A thread that has issued work and is told kMostRefusals times in a row
//   that something is not ready, without issuing anything between, waits for it: the last answer is
//   "done". To other threads (ProcessGroupNCCL's watchdog asks every 100 ms and issues nothing)
//   everything is done once no thread has issued anything for kQuiet of host time. So a peak hangs
//   on the clock only where the program pauses as long as that.
//   A card has finished long before a process ends; so when it does (exit handlers) everything is
//   done, and what a thread that only asks was refused waits for its next question: a watchdog that
//   asks while libtorch is taken down aborts the process.
// Limits: a driver's queue of launches ends (the host then waits for the oldest); here it does not.
//   Callbacks on a stream run when they are issued, cudaFreeAsync gives back at once, and a
//   captured event is done. Timing also decides which block a tensor gets, so where blocks are
//   split the peak of what is allocated may be lower with late events, by MiB. The watchdog's own
//   clock (100 ms) stays: what an asynchronous collective holds goes when it next looks.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace virtual_gpu {

using StreamSlot = uint32_t;  // of a stream, never used again for another

// All that was issued on a stream up to a ticket; nothing for ticket 0.
struct Moment {
  StreamSlot slot = 0;
  uint64_t ticket = 0;
};

// How a stream stands to its device's default stream (CUDA runtime API, "stream synchronization
// behavior"): work of a blocking stream and of the default stream come after one another.
enum class StreamKind { kDefault, kBlocking, kNonBlocking };

// Not thread-safe: Streams, which has one, guards it.
class PendingWork {
 public:
  StreamSlot add_stream(int device, StreamKind kind);
  // What is pending there stays pending.
  void remove_stream(StreamSlot slot);

  void issue(StreamSlot slot);
  // What comes next on `slot` comes after `moment`.
  void wait(StreamSlot slot, Moment moment);
  // All that was issued there so far, and what it comes after.
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
    std::deque<Edge> edges;                           // by `at`, of those not completed
    std::unordered_map<StreamSlot, uint64_t> linked;  // the last ticket that it comes after
  };
  void join_default(StreamSlot slot);

  std::vector<Work> streams_;
  std::map<int, StreamSlot> defaults_;               // by device
  std::map<int, std::vector<StreamSlot>> blocking_;  // by device
};

// When a thread that only asks is told "done": Note [Late events].
class Askers {
 public:
  static constexpr int kMostRefusals = 1000;
  static constexpr std::chrono::milliseconds kQuiet{5000};
  explicit Askers(std::chrono::milliseconds quiet = kQuiet) : quiet_(quiet) {}

  void issued();            // by the calling thread
  bool may_end();           // the calling thread asked for what is not ready: true = it is done now
  static bool only_asks();  // the calling thread: it has issued nothing

 private:
  std::chrono::milliseconds quiet_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace virtual_gpu
