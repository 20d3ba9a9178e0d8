#include "plan/fit/search.h"

#include "plan/fit/searches.h"

namespace headroom {

FitResult search_fit(const FitQuestion& question, const FitOracle& oracle) {
  return question.open == Open::kNothing ? cheapest_sets(question, oracle)
                                         : largest_values(question, oracle);
}

}  // namespace headroom
