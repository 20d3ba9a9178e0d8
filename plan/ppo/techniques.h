// The techniques that the search for an iteration's set-up may use. No torch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/fit/sets/technique_list.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Those of plan/fit/sets/technique_list.h that an iteration has, and its own: swapped phases, the
// reference on the host, fewer tokens in a micro-batch. Dearest first. typed: flags that the user
// gave, without dashes: a technique that sets what one of them says is left out.
std::vector<RunTechnique> ppo_techniques(const PpoRun& base, const CostOrder& order,
                                         const std::vector<std::string>& typed);

// How far each technique is used: by its place in the list, 0 = not.
using Levels = std::vector<size_t>;

// `base` with them. nullopt where two of them contradict each other, or validate() refuses it.
std::optional<PpoRun> with_techniques(const PpoRun& base,
                                      const std::vector<RunTechnique>& techniques,
                                      const Levels& levels);

// "checkpoint full, swapped phases"; "nothing".
std::string in_words(const std::vector<RunTechnique>& techniques, const Levels& levels);

}  // namespace headroom
