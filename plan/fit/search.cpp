#include "plan/fit/search.h"

#include "plan/fit/searches.h"

namespace headroom {

FitResult search_fit(const FitQuestion& question, const FitOracle& judge) {
  return question.open == Open::kNothing ? cheapest_sets(question, judge)
                                         : largest_values(question, judge);
}

}  // namespace headroom
