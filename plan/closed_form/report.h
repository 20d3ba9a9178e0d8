// `headroom rlhf --formula seed`: the seed document's figures, ours beside them, and why they
// differ. No torch here.
#pragma once

#include <vector>

#include "plan/rlhf/spec.h"
#include "text/table.h"

namespace headroom {

// Throws UsageError for a model that the document does not have.
std::vector<Table> seed_report(const RlhfSpec& spec);

}  // namespace headroom
