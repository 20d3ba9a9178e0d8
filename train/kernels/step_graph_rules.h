// The steps that --step-graph captures. No torch here.
#pragma once

#include "train/settings/spec.h"

namespace headroom {

// Throws UsageError if a step of these settings cannot be captured.
void check_step_graph(const RunSpec& spec);

}  // namespace headroom
