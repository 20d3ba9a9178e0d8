// The numbers that master weights begin with, and which parameters a rank counts.
#pragma once

#include <string>
#include <vector>

#include "train/parameter_layout.h"
#include "train/spec.h"

namespace headroom {

// Those of the file of weights, where BF16 weights are rounded from them; they lie beside the
// states until those are written. Else none: masters begin as the weights.
NamedTensors first_masters(const RunSpec& spec, const NamedTensors& parameters,
                           const ParameterLayout& layout);

// For each parameter, whether this rank counts it in sums over all ranks.
std::vector<bool> counted_here(const ParameterLayout& layout,
                               const std::vector<std::string>& names);

}  // namespace headroom
