// The techniques that the search for an iteration's set-up may use. No torch here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/fit/sets/technique_list.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Techniques of plan/fit/sets/technique_list.h that apply to an iteration, and its own: swapped
// phases, the reference on the host, fewer tokens per micro-batch. Dearest first. typed: the user's
// flags, without dashes: techniques that set one of them are left out.
std::vector<RunTechnique> ppo_techniques(const PpoRun& base, const CostOrder& order,
                                         const std::vector<std::string>& typed);

// Level of each technique, by its index in the list; 0 = unused.
using Levels = std::vector<size_t>;

// `base` with the levels. nullopt if two contradict each other or validate() refuses the run.
std::optional<PpoRun> with_techniques(const PpoRun& base,
                                      const std::vector<RunTechnique>& techniques,
                                      const Levels& levels);

// "checkpoint full, swapped phases"; "nothing".
std::string in_words(const std::vector<RunTechnique>& techniques, const Levels& levels);

}  // namespace headroom
