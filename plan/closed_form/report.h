// `headroom rlhf --formula closed-form`: the RLHF guide's figures, ours beside them, and why they
// differ. No torch here.
#pragma once

#include <vector>

#include "plan/rlhf/spec.h"
#include "text/table.h"

namespace headroom {

// Throws UsageError for a model outside the guide.
std::vector<Table> closed_form_report(const RlhfSpec& spec);

}  // namespace headroom
