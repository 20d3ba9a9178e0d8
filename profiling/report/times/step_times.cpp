#include "profiling/report/times/step_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headroom {
namespace {

// Linear between the two nearest steps, as NumPy's default.
double percentile(const std::vector<double>& sorted, double percent) {
  const double place = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double share = place - static_cast<double>(below);
  return sorted[below] + share * (sorted[above] - sorted[below]);
}

}  // namespace

std::optional<StepTimes> step_times(const std::vector<double>& step_ms) {
  std::vector<double> sorted;
  std::copy_if(step_ms.begin(), step_ms.end(), std::back_inserter(sorted),
               [](double ms) { return std::isfinite(ms); });
  if (sorted.empty()) return std::nullopt;
  std::sort(sorted.begin(), sorted.end());
  const size_t count = sorted.size();
  StepTimes times{.steps = static_cast<int>(count),
                  .median_ms = percentile(sorted, 50),
                  .min_ms = sorted.front(),
                  .max_ms = sorted.back(),
                  .p10_ms = percentile(sorted, 10),
                  .p90_ms = percentile(sorted, 90),
                  .p95_ms = percentile(sorted, 95)};
  times.mean_ms = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(count);
  double squares = 0;
  for (const double ms : sorted) squares += (ms - times.mean_ms) * (ms - times.mean_ms);
  if (count > 1) times.deviation_ms = std::sqrt(squares / static_cast<double>(count - 1));
  return times;
}

}  // namespace headroom
