// Every set of techniques on every mesh, cheapest first. No torch here.
#pragma once

#include <vector>

#include "plan/fit/search.h"

namespace headroom {

// Note [Sets on meshes]
// Rationale: meshes times sets are hundreds of thousands. Most of them have states (weights, their
//   master copy, the optimizer's) that are larger than the card, whatever else is set.
// Approach: first each mesh with the settings that determine states: optimizer, weights, their
//   copies, and their offload to the host. If theory finds the states larger than the card, the
//   mesh is kept alone, to be run beside an answer; otherwise with all other techniques. If all are
//   too large, those with the smallest states are kept.
// Limits: where a cheaper set run beside an answer fails by its states alone, it has no other
//   technique.

// The sets of the question: on its meshes, or on one GPU.
std::vector<TechniqueSet> sets_of(const FitQuestion& question, const FitOracle& oracle);

}  // namespace headroom
