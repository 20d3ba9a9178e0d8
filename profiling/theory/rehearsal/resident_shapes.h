// A block whose parameters come and go, with shapes for tensors. Read beside train/offload/
// resident_runner.h. No torch here.
#pragma once

#include <cstdint>
#include <functional>

#include "profiling/theory/rehearsal/run.h"
#include "train/offload/resident_blocks.h"

namespace headroom {

// block(x_BSD), with the parameters of block `index` there.
ShapeTensor run_resident(ResidentBlocks& books, Run& run, int64_t index, const ShapeTensor& x_BSD,
                         const std::function<ShapeTensor(const ShapeTensor&)>& block);

}  // namespace headroom
