// The tier of a test: `pr` runs a fixed part of the long tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace headroom {

// HEADROOM_LONG is set by ctest -C nightly, for tests that then run all of it.
inline bool is_at_night() { return std::getenv("HEADROOM_LONG") != nullptr; }

// Steps of a test that needs several, whose number means nothing: so many at night, by day five.
inline int64_t many_steps(int64_t at_night) { return is_at_night() ? at_night : 5; }

// At night all cases, by day every `step`-th: a step without a common divisor with the lengths of
// the lists that the cases combine meets each value of each list.
template <typename Case>
std::vector<Case> share_by_day(const std::vector<Case>& all, size_t step) {
  std::vector<Case> share;
  for (size_t i = 0; i < all.size(); i += is_at_night() ? 1 : step) share.push_back(all[i]);
  return share;
}

}  // namespace headroom
