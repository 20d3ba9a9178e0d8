// Many comparisons at once. No torch here.
#pragma once

#include <vector>

namespace headroom {

// For each comparison: is it one of those that may be called different, if a share of at most
// `rate` of them may be false? The step-up procedure of Benjamini and Hochberg, "Controlling the
// False Discovery Rate" (J. R. Stat. Soc. B 57:1, 1995): of m probabilities, sorted, the first k,
// for the largest k whose k-th probability is at most rate * k / m.
std::vector<bool> discoveries(const std::vector<double>& chances, double rate);

}  // namespace headroom
