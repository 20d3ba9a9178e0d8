// Counts of masks that the user gave for a nonzero() whose values are not known.
//
// Note [A mask keeps its count]
// Rationale: autograd, and the program, look through one mask several times. A count that was given
//   for the first time is that of the mask.
// Approach: the mask is taken for true in its first elements, as many as were said, and false
//   behind them. A small one is written so, and everything that is computed of it agrees; of a
//   large one the count is kept until its memory goes or is written to. The indices are those of
//   these elements: 0 to N-1 of a vector.
// Limits: where in a mask the elements lie does not count for memory; a program that uses it
//   otherwise gets this answer.
#pragma once

#include <ATen/ATen.h>

namespace headroom {

// Before nonzero() reads the count of a mask that is not known: the count given before, if any.
void answer_given_count(const at::Tensor& mask);

// After it: where it found anything, that was given.
void keep_given_count(const at::Tensor& mask, const at::Tensor& indices);

}  // namespace headroom
