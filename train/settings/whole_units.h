// Rounds an amount up to whole units. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

inline int64_t whole_units(int64_t amount, int64_t unit) {
  return (amount + unit - 1) / unit * unit;
}

}  // namespace headroom
