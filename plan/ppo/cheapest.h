// The cheapest set-up of an iteration for one card, proved by running it. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/ppo/techniques.h"
#include "plan/search/questions.h"
#include "profiling/record.h"

namespace headroom {

// Note [The cheapest set-up]
// Rationale: a dozen techniques make thousands of sets, an iteration rehearsed takes up to a
//   second, one on a virtual card many.
// Approach: sets are compared from the dearest technique down (plan/search/cost_order.h), so the
//   cheapest is found one technique after the other, dearest first: each is used as little as
//   leaves something that fits where all cheaper ones are used as far as they go together. What is
//   found is run. Where the card refuses it, it is a set that does not fit, and the search begins
//   again. Then the cheaper sets are looked at that are smallest: one technique one step back, all
//   cheaper ones as far as they go. The smallest of them is run too, and must not fit: where it
//   does, it is the answer, and is held against the next.
//   BF16 products may make an iteration larger: what is smallest is looked for with and without.
// Limits: every other technique is taken to make an iteration smaller, or to leave it as it is. Of
//   techniques that exclude each other the sets with the fewest left out are looked at.
struct PpoJudge {
  int64_t capacity = 0;                        // bytes that a run may have
  std::function<int64_t(const PpoRun&)> need;  // by theory, of its fullest phase; -1: not known
  std::function<bool(const PpoRun&)> fits;     // by theory, pieces of free memory counted
  std::function<Record(const PpoRun&)> run;    // on the card
  std::function<bool()> stopped = [] { return false; };
};

struct PpoSet {
  PpoRun run;
  Levels levels;
  int64_t need = 0;  // by theory
  std::optional<Record> record;
};

struct PpoFit {
  std::vector<RunTechnique> techniques;
  std::optional<PpoSet> answer;   // its Record is ok
  std::optional<PpoSet> cheaper;  // the smallest of the cheaper ones, which was run and is not
  std::optional<PpoSet> nearest;  // where nothing fits: what needs least, run
  std::vector<std::string> notes;
  Questions questions;
  bool stopped = false;
};

PpoFit cheapest_setup(const PpoRun& base, const std::vector<RunTechnique>& techniques,
                      const PpoJudge& judge);

}  // namespace headroom
