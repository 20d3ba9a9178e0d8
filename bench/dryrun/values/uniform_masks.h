// Masks of equal elements, by the assumption about unknown numbers.
//
// Note [Numbers that nobody knows are finite]
// Rationale: programs leave out NaN elements (nanmin, overflow checks). With an unknown mask, which
//   reads as zeros, that would be all of them, and a minimum of nothing raises.
// Approach: a test for NaN or infinity of an unknown number gets the answer for finite ones. A
//   small mask is written that way. A large one is noted, and all(), any(), not and nonzero() of
//   it follow.
// Limits: a program whose numbers are not finite on a card takes another path here.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "bench/dryrun/values/operation.h"

namespace headroom {

// The value assumed for all elements of this mask; nullopt if there is none.
std::optional<bool> uniform_value(const at::Tensor& mask);

// Sets all elements of the operation's result masks to this value.
void assume_uniform(const Operation& operation, const std::vector<c10::IValue>& outputs,
                    bool value);

}  // namespace headroom
