// Masks whose elements are all the same, by what is assumed of numbers that nobody knows.
//
// Note [Numbers that nobody knows are finite]
// Rationale: programs leave out what is not a number (nanmin, overflow checks); of values that read
//   as zeros that would be everything, and a minimum of nothing raises.
// Approach: what asks of an unknown number whether it is one gets the answer of every finite one. A
//   small mask is written so. A large one is noted, and all(), any(), not and nonzero() of it
//   follow.
// Limits: a program whose numbers are not finite on a card takes another way here.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <vector>

#include "bench/dryrun/values/operation.h"

namespace headroom {

// The value that all elements of this mask were assumed to have; nullopt where none was.
std::optional<bool> uniform_value(const at::Tensor& mask);

// Makes all elements of the masks that the operation made this value.
void assume_uniform(const Operation& operation, const std::vector<c10::IValue>& outputs,
                    bool value);

}  // namespace headroom
