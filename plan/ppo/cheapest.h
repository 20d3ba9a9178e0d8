// The cheapest set-up of an iteration for one card, proved by running it. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/ppo/techniques.h"
#include "plan/search/questions.h"
#include "profiling/record/record.h"

namespace headroom {

// Note [The cheapest set-up]
// Rationale: a dozen techniques make thousands of sets; a rehearsed iteration takes up to a second,
//   one on a virtual card many.
// Approach: sets are compared from the dearest technique down (plan/search/cost_order.h), so the
//   cheapest is found one technique at a time, dearest first: each gets the lowest level with which
//   something fits when all cheaper ones are used as far as they are compatible. The result is run.
//   If the card refuses it, it counts as a set that does not fit, and the search restarts. Then the
//   smallest cheaper sets are compared: one technique one level back, all cheaper ones used fully.
//   The smallest of them is run too, and must not fit; if it does, it is the new result, and is
//   compared with the next.
//   BF16 products may make an iteration larger: the smallest set is sought with and without.
// Limits: every other technique is assumed not to make an iteration larger. Of techniques that
//   exclude each other, only the sets with the fewest left out are tried.
struct PpoOracle {
  int64_t capacity = 0;                        // bytes available to a run
  std::function<int64_t(const PpoRun&)> need;  // of its fullest phase by theory; -1: not known
  std::function<bool(const PpoRun&)> fits;     // by theory, with fragmentation
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
  std::optional<PpoSet> cheaper;  // the smallest of the cheaper ones, run; its Record is not ok
  std::optional<PpoSet> nearest;  // where nothing fits: the set that needs least, run
  std::vector<std::string> notes;
  Questions questions;
  bool stopped = false;
};

PpoFit cheapest_setup(const PpoRun& base, const std::vector<RunTechnique>& techniques,
                      const PpoOracle& oracle);

}  // namespace headroom
