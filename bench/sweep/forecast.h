// The remaining time of a sweep. No torch here.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace headroom {

// Note [ETA of a sweep]
// Rationale: the first cell loads libtorch, sometimes from a cold disk, so its time does not
//   predict the others'.
// Approach: the forecast is the median of the cells so far, once three have ended, or once all took
//   so long that loading is a small part.
// Limits: cells of one sweep can differ greatly.
class Forecast {
 public:
  // at_once: number of concurrent cells.
  explicit Forecast(size_t at_once) : at_once_(at_once) {}

  void add(double seconds) { seconds_.push_back(seconds); }

  // Seconds until `cells` more have ended; none while unknown.
  std::optional<double> left(size_t cells) const;

 private:
  size_t at_once_;
  std::vector<double> seconds_;
};

}  // namespace headroom
