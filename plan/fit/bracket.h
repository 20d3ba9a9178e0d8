// The largest value that fits, found by asking. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace headroom {

// What a run on a card came to.
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

// The largest value of the range that fits, begun at `guess` and left in growing steps, the first
// of `first_step` (at least a stride): right guesses take two questions with the smallest. The
// value one stride beyond was asked too, unless it is out of the range. 0 where `least` does not
// fit; nothing where an answer was kUnknown. What fits is taken to fit at every smaller value.
std::optional<int64_t> largest_that_fits(const Range& range, int64_t guess,
                                         const std::function<Fits(int64_t value)>& ask,
                                         int64_t first_step = 0);

}  // namespace headroom
