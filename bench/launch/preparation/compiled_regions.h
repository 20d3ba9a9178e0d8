// Compiles the regions of --kernels compiled before cells run. No torch here.
//
// Note [Regions on demand]
// Rationale: compiling a shape takes half a minute, once; a cell must find it done, because no
//   Python runs in a cell, and the first cell's time must not hold it.
// Approach: a region's folder in the cache is named after a checksum of everything that it depends
//   on (train/kernels/region_settings.h). Under a lock of its own, the compiler of model/compiled
//   writes into an unfinished folder beside it; that is renamed once its files are listed with
//   their checksums. A folder whose files differ from its list is compiled again.
// Limits: for a virtual card the compiler runs under `headroom dryrun`, which needs `headroom`
//   beside this program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "bench/launch/cell.h"
#include "train/settings/spec.h"

namespace headroom {

// Compiles the libraries of these settings (train/kernels/region_settings.h) that the cache lacks.
void compile_libraries(const std::vector<nlohmann::json>& settings, const CellOptions& options);

// Compiles what these runs need and the cache lacks, each region once. options.on_talk gets a line
// for each. Returns early once interrupted(). Throws std::runtime_error, with the command that
// repairs it, where there is no Python or the compiler fails.
void compile_regions(const std::vector<RunSpec>& specs, const CellOptions& options);

}  // namespace headroom
