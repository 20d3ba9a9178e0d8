// What takes something away where an iteration ran out of memory, by flags. No torch here.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiling/record.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Settings by the names of their fields: {"checkpoint", "full"}.
using Remedy = std::vector<std::pair<std::string, std::string>>;

// "--recompute full --swap-phases".
std::string flags_of(const Remedy& remedy);

// The same with a remedy; nullopt where that changes nothing, or where the set-up does not allow
// it.
std::optional<PpoRun> with(const PpoRun& run, const Remedy& remedy);

// Of the place where memory ran out, a phase or the building of the models, as far as this set-up
// takes them: what costs the least time first, what changes the numbers last.
std::vector<Remedy> remedies_for(const PpoRun& run, const OutOfMemory& moment);

}  // namespace headroom
