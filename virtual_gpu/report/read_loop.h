// The rule for reporting a loop of reads without a new place: after 1,000 reads or after 10 seconds
// of them, then ever more rarely. virtual_gpu/python_hook/headroom_reads.py has the same rule.
#pragma once

#include <chrono>
#include <cstdint>

namespace virtual_gpu {

class ReadLoop {
 public:
  using Clock = std::chrono::steady_clock;

  // Counts one read. Returns the reads since the last new place if they are to be reported, else 0.
  uint64_t note(bool is_new_place, Clock::time_point now) {
    if (is_new_place) *this = ReadLoop{};
    if (reads_++ == 0) began_ = now;
    const bool is_due =
        reads_ >= said_at_reads_ || (reads_ >= kFewest && now - began_ >= said_after_);
    if (!is_due) return 0;
    said_at_reads_ = reads_ * 10;
    said_after_ = (now - began_) * 4 + std::chrono::seconds(10);
    return reads_;
  }

 private:
  static constexpr uint64_t kFewest = 50;  // if slow: a step per second is no loop yet
  uint64_t reads_ = 0;
  uint64_t said_at_reads_ = 1000;
  Clock::time_point began_{};
  Clock::duration said_after_ = std::chrono::seconds(10);
};

}  // namespace virtual_gpu
