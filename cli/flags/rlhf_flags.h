// The flags of `headroom rlhf` and what they make. No torch here.
#pragma once

#include <vector>

#include "cli/flags/flags.h"
#include "plan/rlhf/spec.h"

namespace headroom {

std::vector<Flag> rlhf_flags();

// Throws UsageError, one line. The result is valid.
RlhfSpec rlhf_spec_from(const Arguments& arguments);

}  // namespace headroom
