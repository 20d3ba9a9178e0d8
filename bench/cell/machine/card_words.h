// A card's state in words. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cell/machine/nvml.h"

namespace headroom {

// The reasons for a lower clock of CardState::clock_reasons: "idle", "power cap".
std::vector<std::string> clock_reasons(uint64_t bits);
// The reasons that make times on the same card vary between runs.
std::vector<std::string> slowing_clock_reasons(uint64_t bits);

// "pid 4711 (2.000 GiB)".
std::string in_words(const CardProcess& process);

}  // namespace headroom
