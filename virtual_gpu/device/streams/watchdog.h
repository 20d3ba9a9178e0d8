// The time that a step takes on a card, for the thread that frees the memory of collectives.
//
// Note [A watchdog's period]
// Rationale: the memory of an asynchronous collective stays until the watchdog of ProcessGroupNCCL
//   sees that it is done, or until the first collective after that. That thread looks every 100 ms.
//   A step on a card takes several such periods. A step on a virtual card can take less than one:
//   then the memory of several steps would be held, of more steps the faster the host is.
// Approach: a wait of the host returns after the watchdog has looked: done events, at all
//   collectives so far; late events, at those that the wait before ended. A thread is a watchdog by
//   the name that libtorch gives it.
// Limits: a program that never waits for the card runs ahead of a real one too; on a virtual card
//   more steps fit into a period. Without a watchdog the first waits are in vain, and then they
//   end.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace virtual_gpu {

// Thread-safe.
class Watchdog {
 public:
  static constexpr std::chrono::milliseconds kLongest{250};
  static constexpr int kMostInVain = 2;
  explicit Watchdog(std::chrono::milliseconds longest = kLongest) : longest_(longest) {}

  void collective() { issued_.fetch_add(1, std::memory_order_relaxed); }
  void query();  // by the calling thread
  // Before a wait of the host returns.
  void host_wait(bool is_late);

 private:
  const std::chrono::milliseconds longest_;
  std::atomic<uint64_t> issued_{0};  // collectives
  std::mutex mutex_;
  std::condition_variable looked_;
  uint64_t seen_ = 0;   // collectives issued before the last look; 0 after a wait with late events
  uint64_t ended_ = 0;  // collectives issued before the last wait with late events
  int in_vain_ = 0;
};

}  // namespace virtual_gpu
