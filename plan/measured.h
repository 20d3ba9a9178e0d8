// `headroom profile`'s measurements beside the plans' computed figures. No torch here.
#pragma once

#include <vector>

#include "model/config.h"
#include "profiling/record/record.h"
#include "text/table.h"

namespace headroom {

// Records of successful training steps, of the given shape if there is one.
std::vector<Record> comparable(const std::vector<Record>& records, const ModelConfig* shape);

// For each Record: weights, gradients, optimizer moments, activations with logits, each computed,
// measured and their difference. A component that was not recorded is left out.
Table measured_table(const std::vector<Record>& records);

}  // namespace headroom
