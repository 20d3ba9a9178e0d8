// NVIDIA's management library (libnvidia-ml), if the machine has it: a card's state while it is
// timed. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

struct CardProcess {
  int64_t pid = 0;                    // the driver's: in a container the host's number
  std::optional<int64_t> used_bytes;  // empty if the driver does not report it
};

// A card's state at one time. Empty if the card or the driver does not report it.
struct CardState {
  std::optional<int64_t> sm_clock_mhz;
  std::optional<int64_t> highest_sm_clock_mhz;
  std::optional<int64_t> memory_clock_mhz;
  std::optional<int64_t> temperature_celsius;
  std::optional<int64_t> power_milliwatts;
  std::optional<uint64_t> clock_reasons;  // bits: reasons for a lower clock
  std::optional<std::vector<CardProcess>> processes;
};

struct CardMemory {
  int64_t total_bytes = 0;
  int64_t used_bytes = 0;  // of all processes
};

// The driver and its cards.
struct NvmlCards {
  std::string problem;  // the reason for no answer: no library, a broken driver; "" = none
  std::string driver_version;
  int64_t cuda_version = 0;          // the newest that it runs: 13000; 0 = not reported
  std::vector<std::string> bus_ids;  // "00000000:3B:00.0"
};

// Note [NVML]
// Rationale: a time is worthless if another process used the card or heat reduced its clock, and
//   only the driver reports that. The library comes with the driver, not with CUDA: a program
//   linked to it would not start on a machine without a card.
// Approach: dlopen; if the library or a function is missing, its figures are absent, without an
//   error. The functions are declared here by hand, so the build needs no NVIDIA header.
// Limits: virtual cards are not queried. For a MIG slice the figures are the whole card's.
class Nvml {
 public:
  // The card at "00000000:3B:00.0". nullptr without the library or without a card there.
  static std::unique_ptr<Nvml> open(const std::string& pci_bus_id,
                                    const std::string& library = kNvmlLibrary);
  // All cards, by the driver's numbers.
  static NvmlCards cards(const std::string& library = kNvmlLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;  // "" if not reported
  std::string name() const;            // "NVIDIA H200"; "" if not reported
  std::optional<CardMemory> memory() const;
  CardState look() const;

 private:
  explicit Nvml(void* library) : library_(library) {}
  static std::unique_ptr<Nvml> start(const std::string& library, std::string& problem);
  std::string bus_id(unsigned index) const;
  template <typename Function>
  Function* function(const char* name) const;
  template <typename... Arguments>
  std::optional<int64_t> number(const char* name, Arguments... arguments) const;
  std::optional<std::vector<CardProcess>> processes() const;

  void* library_;
  void* card_ = nullptr;
};

}  // namespace headroom
