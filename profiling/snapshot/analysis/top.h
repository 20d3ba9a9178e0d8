// The largest live allocations at a device's peak, with their origin. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Allocations of one size, made in one phase by one piece of code for one purpose.
struct LiveAllocation {
  int64_t size = 0;   // requested bytes per allocation
  int64_t count = 0;  // live at the peak
  double share = 0;   // of the peak, all together
  std::string phase;  // annotation open then, without a number at its end; "" outside of any
  bool before_recording = false;
  std::string purpose;             // "activations", "gradients"; "" = not in the file
  std::vector<std::string> stack;  // our source lines, innermost first, then "libtorch: ..."
};

// Live bytes are requested bytes from alloc to free_completed, as the viewer counts them.
struct PeakReport {
  int64_t device = 0;
  int64_t peak_bytes = 0;
  int64_t event = -1;  // index of the alloc at the peak; -1: before the first event
  int64_t events = 0;
  int64_t time_us = 0;
  std::string phase;  // at the peak
  int64_t live_count = 0;
  int64_t before_recording_bytes = 0;  // allocated before the first event and live at the peak
  int64_t listed_bytes = 0;            // of the rows
  std::vector<LiveAllocation> rows;    // largest first
};

// Reports the device with the highest peak. limit: rows; 0 = all. Without live bytes the report is
// all zeros.
enum class TopOrder { kTotal, kEach };  // rows by total bytes or by one allocation's
PeakReport largest_allocations(const Snapshot& snapshot, size_t limit,
                               TopOrder order = TopOrder::kTotal);

// The line of code whose recorded blocks hold the most at that peak; line "" if none is recorded.
struct LineAtPeak {
  std::string line;  // as from code_line()
  int64_t bytes = 0;
};
LineAtPeak fullest_line(const Snapshot& snapshot);

}  // namespace headroom
