// Finds the largest value that fits, by trial. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace headroom {

// Outcome of a run on a card.
enum class Fits {
  kYes,
  kNo,      // the card's memory ran out
  kUnknown  // anything else
};

struct Range {
  int64_t least = 1;
  int64_t most = 1;
  int64_t stride = 1;  // values are multiples of it
};

// The largest value of the range that fits. The search leaves `guess` in growing steps, the first
// `first_step` (at least a stride); with the smallest a right guess takes two trials. The value one
// stride beyond the result is tried too, unless out of range. Returns 0 if `least` does not fit,
// and nothing after a kUnknown. Below a value that fits, every value is assumed to fit.
std::optional<int64_t> largest_that_fits(const Range& range, int64_t guess,
                                         const std::function<Fits(int64_t value)>& ask,
                                         int64_t first_step = 0);

}  // namespace headroom
