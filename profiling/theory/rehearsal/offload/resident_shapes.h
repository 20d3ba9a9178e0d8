// A block whose parameters come and go, with shapes for tensors. Read beside train/offload/
// prefetching_runner.h. No torch here.
#pragma once

#include <cstdint>
#include <functional>

#include "profiling/theory/rehearsal/run.h"
#include "train/offload/blocks/block_prefetcher.h"

namespace headroom {

// block(x_BSD), with the parameters of block `index` there.
ShapeTensor run_resident(BlockPrefetcher& books, Run& run, int64_t index, const ShapeTensor& x_BSD,
                         const std::function<ShapeTensor(const ShapeTensor&)>& block);

}  // namespace headroom
