// Where a step runs: --device, read once. No torch here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom {

enum class DeviceKind {
  kAuto,     // not settled yet: see settled() in bench/process/virtual_card.h
  kCpu,      // real arithmetic on the host
  kCuda,     // a card of this machine
  kVirtual,  // a card that only keeps the books: memory exactly, no values and no times
};

struct Device {
  DeviceKind kind = DeviceKind::kAuto;
  std::optional<int> ordinal;  // of kCuda, where it was given; else the first
  std::string card;            // of kVirtual: a name of cards/cards.h, as typed
  std::string bytes;           // of kVirtual: "" = what the card has, or "80GiB", or "unlimited"

  bool operator==(const Device&) const = default;
};

// "auto", "cpu", "cuda", "cuda:1", "virtual:h200", "virtual:h200,bytes=80GiB". Throws UsageError on
// anything else. Whether there is such a card is not asked here.
Device parse_device(std::string_view text);

// As it was typed.
std::string to_string(const Device& device);

// Whether the card of this process only keeps the books: what is copied from it is not written.
bool under_virtual_card();

}  // namespace headroom
