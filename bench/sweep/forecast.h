// How long a sweep still takes. No torch here.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace headroom {

// Note [When a sweep says its ETA]
// Rationale: the first cell loads libtorch, from a cold disk at times, so its seconds say nothing
// of the others. Approach: a forecast is made from the median of the cells so far, once three have
// ended, or one that took so long that
//   loading is a small part of it.
// Limits: cells of one sweep can differ by much.
class Forecast {
 public:
  // at_once: cells beside each other.
  explicit Forecast(size_t at_once) : at_once_(at_once) {}

  void add(double seconds) { seconds_.push_back(seconds); }

  // Seconds until `cells` more have ended; none while that is not known.
  std::optional<double> left(size_t cells) const;

 private:
  size_t at_once_;
  std::vector<double> seconds_;
};

}  // namespace headroom
