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
  double p10_ms = 0;        // percentiles, interpolated between two steps
  double p90_ms = 0;
  double p95_ms = 0;

  // p90 - p10 as a share of the median: one slow step in twenty does not change it.
  double spread() const { return median_ms > 0 ? (p90_ms - p10_ms) / median_ms : 0; }
};

// Above it the median must not be compared with others.
inline constexpr double kWidestSpread = 0.1;

// Unknown below three steps.
inline bool spreads_too_widely(const StepTimes& times) {
  return times.steps >= 3 && times.spread() > kWidestSpread;
}

// From the finite values; empty if there are none.
std::optional<StepTimes> step_times(const std::vector<double>& step_ms);

}  // namespace headroom
