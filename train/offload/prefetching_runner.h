// What makes blocks come and go by their books while a model runs.
#pragma once

#include "model/transformer.h"
#include "train/offload/block_prefetcher.h"

namespace headroom {

// `inner`, with the block's parameters there. In backward a hook on the gradient of a block's
// output says that its backward begins and that of the block after it is done: the engine runs the
// newest node that is ready, and what takes a parameter's gradient before all others. `books`
// outlives what it returns.
BlockRunner with_prefetch(BlockPrefetcher& books, BlockRunner inner);

}  // namespace headroom
