#include "profiling/report/step_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headroom {

std::optional<StepTimes> step_times(const std::vector<double>& step_ms) {
  std::vector<double> sorted;
  std::copy_if(step_ms.begin(), step_ms.end(), std::back_inserter(sorted),
               [](double ms) { return std::isfinite(ms); });
  if (sorted.empty()) return std::nullopt;
  std::sort(sorted.begin(), sorted.end());
  const size_t count = sorted.size();
  StepTimes times{
      .steps = static_cast<int>(count), .min_ms = sorted.front(), .max_ms = sorted.back()};
  times.mean_ms = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(count);
  times.median_ms = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
  double squares = 0;
  for (const double ms : sorted) squares += (ms - times.mean_ms) * (ms - times.mean_ms);
  if (count > 1) times.deviation_ms = std::sqrt(squares / static_cast<double>(count - 1));
  return times;
}

}  // namespace headroom
