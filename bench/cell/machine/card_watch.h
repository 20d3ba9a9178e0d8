// Watches the card's state between timed steps, for the Record. No torch here.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bench/cell/machine/nvml.h"
#include "profiling/record/record.h"

namespace headroom {

// Queries the card after each timed step, outside the timing: the driver answers in microseconds,
// and queries only before the first and after the last step would miss thermal effects in between.
class CardWatch {
 public:
  // "" = an unwatched device: the CPU or a virtual card.
  explicit CardWatch(const std::string& pci_bus_id, const std::string& library = kNvmlLibrary);

  void look();

  // Sets environment["nvml"], and adds notes if times are unreliable. Does nothing without NVML.
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
  std::optional<uint64_t> clock_reasons_;  // of all queries
  std::map<int64_t, CardProcess> others_;  // by pid; the highest use of each
  bool knows_processes_ = false;
  std::optional<int64_t> highest_sm_clock_mhz_;
};

}  // namespace headroom
