// The device of a step: --device, parsed once. No torch here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom {

enum class DeviceKind {
  kAuto,     // not resolved yet: see settled() in bench/process/virtual_card.h
  kCpu,      // real arithmetic on the host
  kCuda,     // a card of this machine
  kVirtual,  // a simulated card: exact memory accounting, no values and no times
};

struct Device {
  DeviceKind kind = DeviceKind::kAuto;
  std::optional<int> ordinal;  // kCuda: the given card, else the first
  std::string card;            // kVirtual: a name of cards/cards.h, as typed
  std::string bytes;           // kVirtual: "" = the card's own memory, or "80GiB", or "unlimited"

  bool operator==(const Device&) const = default;
};

// "auto", "cpu", "cuda", "cuda:1", "virtual:h200", "virtual:h200,bytes=80GiB". Throws UsageError on
// anything else. Does not check that the card exists.
Device parse_device(std::string_view text);

// The text as typed.
std::string to_string(const Device& device);

// True on a virtual card: copies from it write nothing.
bool under_virtual_card();

}  // namespace headroom
