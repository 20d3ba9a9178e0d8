// Counts that the user gave for a nonzero() of unknown masks.
//
// Note [A mask keeps its count]
// Rationale: autograd and the program search one mask several times. The count given the first time
//   is the mask's count.
// Approach: the mask is assumed true in as many of its first elements as were given, and false
//   after them. A small mask is written that way, so all results computed from it agree; for a
//   large one the count is kept until its memory is freed or written to. The indices are those of
//   these elements: 0 to N-1 for a vector.
// Limits: the places of the true elements do not affect memory, but a program that uses them gets
//   these.
#pragma once

#include <ATen/ATen.h>

namespace headroom {

// Before nonzero() reads the count of an unknown mask: answers with the count given before, if any.
void answer_given_count(const at::Tensor& mask);

// After nonzero(): keeps its count, if not zero, as given.
void keep_given_count(const at::Tensor& mask, const at::Tensor& indices);

}  // namespace headroom
