// What `headroom theory` prints of one rank of a mesh, as tables. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "text/table.h"
#include "train/spec.h"

namespace headroom {

// What the rank has of the model; what is alive at the peak of its step; what its collectives move.
// Throws UsageError where the rehearsal does not follow the spec, naming the setting.
std::vector<Table> rank_theory_report(const RunSpec& spec, int64_t rank);

}  // namespace headroom
