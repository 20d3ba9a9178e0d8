// Statistics of the measured steps. No torch here.
#pragma once

#include <optional>
#include <vector>

namespace headroom {

struct StepTimes {
  int steps = 0;
  double mean_ms = 0;
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  double deviation_ms = 0;  // sample standard deviation; 0 for a single step
  double p10_ms = 0;        // percentiles, between two steps interpolated
  double p90_ms = 0;
  double p95_ms = 0;

  // p90 - p10 as a share of the median: one slow step in twenty does not move it.
  double spread() const { return median_ms > 0 ? (p90_ms - p10_ms) / median_ms : 0; }
};

// Beyond it the median is no figure to compare others with.
inline constexpr double kWidestSpread = 0.1;

// Of fewer than three steps nobody knows.
inline bool spreads_too_widely(const StepTimes& times) {
  return times.steps >= 3 && times.spread() > kWidestSpread;
}

// Of the finite values; nothing when there is none.
std::optional<StepTimes> step_times(const std::vector<double>& step_ms);

}  // namespace headroom
