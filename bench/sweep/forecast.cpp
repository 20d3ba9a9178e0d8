#include "bench/sweep/forecast.h"

#include <algorithm>

namespace headroom {

std::optional<double> Forecast::left(size_t cells) const {
  constexpr size_t kEnough = 3;
  constexpr double kLong = 30;  // seconds; loading libtorch takes a few
  if (cells == 0 || seconds_.empty()) return std::nullopt;
  std::vector<double> sorted = seconds_;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() < kEnough && sorted.front() < kLong) return std::nullopt;
  const double median = sorted[sorted.size() / 2];
  return median * static_cast<double>(cells) / static_cast<double>(at_once_);
}

}  // namespace headroom
