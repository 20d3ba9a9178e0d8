// Checks the meshes of ranks: what can run, and what contradicts. No torch here.
#pragma once

#include "train/settings/spec.h"

namespace headroom {

// Throws UsageError.
void check_mesh(const RunSpec& spec);

}  // namespace headroom
