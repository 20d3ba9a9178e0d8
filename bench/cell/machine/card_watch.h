// What the card did between timed steps, for the Record. No torch here.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bench/cell/machine/nvml.h"
#include "profiling/record/record.h"

namespace headroom {

// Looks after each timed step, outside the clock: the driver answers in microseconds, and a look
// before the first step and after the last would miss what heat does in between.
class CardWatch {
 public:
  // "" = a device that is not watched: the CPU, a virtual card.
  explicit CardWatch(const std::string& pci_bus_id, const std::string& library = kNvmlLibrary);

  void look();

  // environment["nvml"] and, where times are not to be trusted, notes. Nothing without a library.
  void fill(Record& record) const;

 private:
  struct Range {
    int64_t low = 0;
    int64_t high = 0;
  };
  void widen(const char* name, std::optional<int64_t> value);
  void remember(const std::vector<CardProcess>& processes);

  std::unique_ptr<Nvml> nvml_;
  int64_t looks_ = 0;
  std::map<std::string, Range> ranges_;
  std::optional<uint64_t> clock_reasons_;  // of any look
  std::map<int64_t, CardProcess> others_;  // by pid; the most that each used
  bool knows_processes_ = false;
  std::optional<int64_t> highest_sm_clock_mhz_;
};

}  // namespace headroom
