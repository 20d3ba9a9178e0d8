#include "profiling/compare/comparison.h"

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

bool have_times(const std::vector<CellPair>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(),
                     [](const CellPair& pair) { return compare_times(pair).has_value(); });
}

}  // namespace

Comparison compare_results(const std::vector<Result>& a, const std::vector<Result>& b,
                           const CompareOptions& options) {
  MatchedCells matched = match_cells(a, b, options.across);
  Comparison comparison{.environment = differing_environments(matched.pairs),
                        .missing = std::move(matched.missing),
                        .added = std::move(matched.added)};
  const bool differs = !comparison.environment.empty() && !options.anyway;
  comparison.times_refused = differs && have_times(matched.pairs);
  for (CellPair& pair : matched.pairs) {
    CellComparison cell{.memory = compare_memory(pair)};
    if (!differs) cell.times = compare_times(pair);
    cell.pair = std::move(pair);
    comparison.cells.push_back(std::move(cell));
  }
  std::vector<Judgement*> judgements;
  for (CellComparison& cell : comparison.cells) {
    if (cell.times) judgements.push_back(&cell.times->judged);
  }
  judge_together(std::move(judgements));
  return comparison;
}

}  // namespace headroom
