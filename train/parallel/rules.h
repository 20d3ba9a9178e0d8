// What a mesh of ranks can run, and what contradicts it. No torch here.
#pragma once

#include "train/spec.h"

namespace headroom {

// Throws UsageError.
void check_mesh(const RunSpec& spec);

}  // namespace headroom
