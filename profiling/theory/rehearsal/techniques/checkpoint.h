// Checkpointing with shapes for tensors. Read beside train/techniques/checkpoint/checkpoint.h. No
// torch here.
#pragma once

#include <functional>
#include <vector>

#include "profiling/theory/rehearsal/operations/tensor.h"
#include "train/settings/vocabulary/checkpoint.h"

namespace headroom {

using ShapeFunction = std::function<ShapeTensor(std::vector<ShapeTensor> inputs)>;

ShapeTensor rehearse_checkpointed(const ShapeFunction& function, std::vector<ShapeTensor> inputs);

// Like BlockSpan of model/transformer.h: blocks [first, end).
using ShapeSpan = std::function<ShapeTensor(int64_t first, int64_t end, ShapeTensor x_BSD)>;

// Like what checkpointing_runner() makes.
ShapeTensor run_groups(const std::vector<BlockGroup>& groups, const ShapeSpan& run,
                       ShapeTensor x_BSD);

// eager_attention() as what recomputing_core() makes runs it.
ShapeTensor recomputed_attention(const ShapeTensor& q_BHSK, const ShapeTensor& k_BHTK,
                                 const ShapeTensor& v_BHTK);

}  // namespace headroom
