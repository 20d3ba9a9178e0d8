// The operations beside the model that --kernels compiled compiles. No torch here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// True if the update of a parameter is a compiled operation: FP32 arithmetic, tensor by tensor.
bool has_compiled_update(const RunSpec& spec);
// True if stochastic rounding is a compiled operation.
bool has_compiled_rounding(const RunSpec& spec);

// The settings on which the libraries depend: one entry for each operation of
// train/kernels/operations/operations.py and type of numbers.
std::vector<nlohmann::json> operation_settings(const RunSpec& spec);

}  // namespace headroom
