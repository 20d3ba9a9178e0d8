#include "plan/fit/search.h"

#include "plan/fit/counted.h"
#include "plan/fit/searches.h"

namespace headroom {

FitResult search_fit(const FitQuestion& question, const Judge& judge) {
  const QuestionCounter counter;
  const Judge counted = counter.counted(judge);
  FitResult result = question.open == Open::kNothing ? cheapest_sets(question, counted)
                                                     : largest_values(question, counted);
  result.questions = counter.so_far();
  return result;
}

}  // namespace headroom
