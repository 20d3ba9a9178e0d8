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
};

// Of the finite values; nothing when there is none.
std::optional<StepTimes> step_times(const std::vector<double>& step_ms);

}  // namespace headroom
