#include "bench/cell/machine/card_words.h"

#include <array>

#include "text/quantity.h"

namespace headroom {
namespace {

struct ClockReason {
  uint64_t bit;
  const char* word;
  bool slows;  // makes times on the same card vary between runs
};

// nvmlClocksEventReasons in nvml.h.
constexpr std::array<ClockReason, 9> kClockReasons = {{
    {0x001, "idle", false},
    {0x002, "application clocks", false},
    {0x004, "power cap", true},
    {0x008, "hardware slowdown", true},
    {0x010, "sync boost", true},
    {0x020, "software thermal slowdown", true},
    {0x040, "hardware thermal slowdown", true},
    {0x080, "power brake", true},
    {0x100, "display clock", false},
}};

std::vector<std::string> words_of_reasons(uint64_t reasons, bool only_slowing) {
  std::vector<std::string> words;
  for (const ClockReason& reason : kClockReasons) {
    if ((reasons & reason.bit) != 0 && (reason.slows || !only_slowing)) {
      words.emplace_back(reason.word);
    }
  }
  return words;
}

}  // namespace

std::vector<std::string> clock_reasons(uint64_t bits) { return words_of_reasons(bits, false); }

std::vector<std::string> slowing_clock_reasons(uint64_t bits) {
  return words_of_reasons(bits, true);
}

std::string in_words(const CardProcess& process) {
  return "pid " + std::to_string(process.pid) +
         (process.used_bytes ? " (" + format_bytes(*process.used_bytes) + ")" : "");
}

}  // namespace headroom
