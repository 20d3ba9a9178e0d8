// Every set of techniques on every mesh, cheapest first. No torch here.
#pragma once

#include <vector>

#include "plan/fit/search.h"

namespace headroom {

// Note [Sets on meshes]
// Rationale: meshes times sets are hundreds of thousands. Most of them have states (weights, their
//   master copy, the optimizer's) that are larger than the card, whatever else is done.
// Approach: first each mesh with what decides states: optimizer, weights, their copies, and which
//   of them lie on the host. Where theory finds these larger than the card it stands alone, for a
//   run beside an answer; the others with all other techniques. Where every one is too large those
//   whose states are the smallest go on.
// Limits: of cheaper sets that cannot fit by their states alone the one that is run beside an
//   answer has no other technique.

// The sets of the question: on its meshes, or on one GPU.
std::vector<TechniqueSet> sets_of(const FitQuestion& question, const FitOracle& judge);

}  // namespace headroom
