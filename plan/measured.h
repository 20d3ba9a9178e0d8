// What `headroom profile` measured, beside what plans compute for the same. No torch here.
#pragma once

#include <vector>

#include "model/config.h"
#include "profiling/record.h"
#include "text/table.h"

namespace headroom {

// Those of training steps that went through and, where a shape is given, are of that shape.
std::vector<Record> comparable(const std::vector<Record>& records, const ModelConfig* shape);

// Weights, gradients, the optimizer's moments, activations with logits, for each Record: computed,
// measured, difference. A component that was not recorded is left out.
Table measured_table(const std::vector<Record>& records);

}  // namespace headroom
