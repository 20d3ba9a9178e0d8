// Where --precision fp8 runs. No torch here.
#pragma once

#include <string>

#include "train/spec.h"

namespace headroom {

// Throws UsageError where a virtual card has no FP8, and on a size that FP8 products do not take:
// d_model, d_ff and the width of keys in multiples of 16, with a backward the tokens of one pass
// too.
void check_fp8(const RunSpec& spec);

// Throws UsageError below compute capability 8.9, the lowest with FP8 in its matrix units.
// `capability`: "8.0"; `card`: its name, for people.
void check_fp8_capability(const std::string& capability, const std::string& card);

}  // namespace headroom
