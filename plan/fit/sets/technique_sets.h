// Every set of techniques that a run can have, cheapest first. No torch here.
#pragma once

#include <string>
#include <vector>

#include "plan/fit/sets/technique_list.h"

namespace headroom {

// One set, and the run with it.
struct TechniqueSet {
  RunSpec spec;
  Cost cost{};
  std::vector<std::string> names;  // of the levels in use, dearest first
  std::string mesh = {};           // in words, if there is one: "dp=4,tp=2, ZeRO-1"

  std::string in_words() const;  // "checkpoint full, fused attention"; "nothing". Mesh first
};

// The sets of `techniques` over `base`, cheapest first. Excluded: two techniques that set one field
// without a combined value, sets that validate() refuses, and duplicates of another set.
std::vector<TechniqueSet> technique_sets(const RunSpec& base,
                                         const std::vector<RunTechnique>& techniques,
                                         const CostOrder& order);

// The indices of sets that are `sets[place]` with one technique at a lower level, or off.
std::vector<size_t> one_step_back(const std::vector<TechniqueSet>& sets, size_t place);

}  // namespace headroom
