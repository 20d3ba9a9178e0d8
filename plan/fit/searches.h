// The two searches behind search_fit(). No torch here.
#pragma once

#include "plan/fit/search.h"

namespace headroom {

FitResult cheapest_sets(const FitQuestion& question, const FitOracle& oracle);
FitResult largest_values(const FitQuestion& question, const FitOracle& oracle);

}  // namespace headroom
