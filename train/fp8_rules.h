// Where --precision fp8 runs. No torch here.
#pragma once

#include <string>

#include "train/spec.h"

namespace headroom {

inline constexpr double kFp8Capability = 8.9;  // the lowest whose matrix units have FP8

// Throws UsageError where a virtual card has no FP8, and on a size that FP8 products do not take:
// d_model, d_ff and the width of keys in multiples of 16, with a backward the tokens of one pass
// too.
void check_fp8(const RunSpec& spec);

// Throws UsageError where the card's capability is below. `card`: its name, for people.
void check_fp8_capability(double capability, const std::string& card);

}  // namespace headroom
