// NVIDIA's management library (libnvidia-ml), where the machine has it: what a card is doing while
// it is timed. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

struct CardProcess {
  int64_t pid = 0;  // as the driver counts them: the host's number, in a container
  std::optional<int64_t> used_bytes;  // nothing where the driver does not say
};

// One look at a card. Nothing where the card or the driver does not tell.
struct CardState {
  std::optional<int64_t> sm_clock_mhz;
  std::optional<int64_t> highest_sm_clock_mhz;
  std::optional<int64_t> memory_clock_mhz;
  std::optional<int64_t> temperature_celsius;
  std::optional<int64_t> power_milliwatts;
  std::optional<uint64_t> clock_reasons;  // bits: why the clock is not the highest
  std::optional<std::vector<CardProcess>> processes;
};

// Note [NVML]
// Rationale: a time is worth nothing where another process used the card or heat held its clock
//   down, and only the driver knows. Its library comes with the driver, not with CUDA: linking it
//   would end the program on every machine without a card.
// Approach: dlopen; a library or a function that is missing makes its figures absent, never an
//   error. The functions are declared here by hand, so no header of NVIDIA's is needed to build.
// Limits: of a virtual card nobody asks. Of a MIG slice the figures are the whole card's.
class Nvml {
 public:
  // The card at "00000000:3B:00.0". nullptr where there is no library, or none of its cards is
  // there.
  static std::unique_ptr<Nvml> open(const std::string& pci_bus_id,
                                    const std::string& library = kNvmlLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::string driver_version() const;  // "" where it does not say
  CardState look() const;

 private:
  explicit Nvml(void* library) : library_(library) {}
  template <typename Function>
  Function* function(const char* name) const;
  template <typename... Arguments>
  std::optional<int64_t> number(const char* name, Arguments... arguments) const;
  std::optional<std::vector<CardProcess>> processes() const;

  void* library_;
  void* card_ = nullptr;
};

}  // namespace headroom
