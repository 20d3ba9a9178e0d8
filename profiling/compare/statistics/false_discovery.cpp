#include "profiling/compare/statistics/false_discovery.h"

#include <algorithm>

namespace headroom {

std::vector<bool> discoveries(const std::vector<double>& chances, double rate) {
  std::vector<double> sorted = chances;
  std::sort(sorted.begin(), sorted.end());
  double most = -1;  // of the chances that are discoveries
  for (size_t k = 0; k < sorted.size(); ++k) {
    const double share = static_cast<double>(k + 1) / static_cast<double>(sorted.size());
    if (sorted[k] <= rate * share) most = sorted[k];
  }
  std::vector<bool> found(chances.size());
  std::transform(chances.begin(), chances.end(), found.begin(),
                 [most](double chance) { return chance <= most; });
  return found;
}

}  // namespace headroom
