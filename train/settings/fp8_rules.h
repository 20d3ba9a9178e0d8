// The configurations in which --precision fp8 runs. No torch here.
#pragma once

#include <string>

#include "train/settings/spec.h"

namespace headroom {

// Throws UsageError on a virtual card without FP8, and on sizes that FP8 products do not take:
// d_model, d_ff and the key width must be multiples of 16, and with a backward so must the tokens
// of one pass.
void check_fp8(const RunSpec& spec);

// Throws UsageError below compute capability 8.9, the lowest with FP8 matrix units. `capability`:
// "8.0"; `card`: its name, for the message.
void check_fp8_capability(const std::string& capability, const std::string& card);

}  // namespace headroom
