// The output of `headroom theory` for one rank of a mesh, as tables. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "text/table.h"
#include "train/settings/spec.h"

namespace headroom {

// The rank's part of the model; the memory alive at the peak of its step; its collectives' bytes.
// Throws UsageError with the setting if the rehearsal does not follow the spec.
std::vector<Table> rank_theory_report(const RunSpec& spec, int64_t rank);

}  // namespace headroom
