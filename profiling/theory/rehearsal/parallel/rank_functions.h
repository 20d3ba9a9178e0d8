// Collectives of ranks that share matrices, with shapes for tensors. Read beside
// train/parallel/ranks/rank_functions.h. No torch here.
#pragma once

#include <cstdint>

#include "profiling/theory/rehearsal/operations/tensor.h"

namespace headroom {

// The residual stream, in Note [Moved bytes].
inline constexpr const char* kStream = "x_BSD";

ShapeTensor spread(const ShapeTensor& x);
ShapeTensor sum_of_ranks(const ShapeTensor& x, const char* name = kStream,
                         const char* letters = "B*S*D");
// ranks: that share the tokens.
ShapeTensor gather_tokens(const ShapeTensor& x_BsD, int64_t ranks);
ShapeTensor sum_by_tokens(const ShapeTensor& x_BSD, int64_t ranks);

}  // namespace headroom
