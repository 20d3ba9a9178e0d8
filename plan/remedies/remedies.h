// Settings that save memory where an iteration ran out of it. No torch here.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiling/record/record.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Settings by the names of their fields: {"checkpoint", "full"}.
using Remedy = std::vector<std::pair<std::string, std::string>>;

// "--recompute full --swap-phases".
std::string flags_of(const Remedy& remedy);

// The run with the remedy; nullopt if that changes nothing or validate() refuses it.
std::optional<PpoRun> with(const PpoRun& run, const Remedy& remedy);

// Remedies for the phase that ran out of memory, or for the building of the models, as far as this
// set-up allows them: those that cost the least time first, changes of the numbers last.
std::vector<Remedy> remedies_for(const PpoRun& run, const OutOfMemory& moment);

}  // namespace headroom
