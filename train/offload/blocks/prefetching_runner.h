// Runs a BlockPrefetcher's fetches and drops while a model runs.
#pragma once

#include "model/transformer.h"
#include "train/offload/blocks/block_prefetcher.h"

namespace headroom {

// `inner`, with the block's parameters on the card. In backward, a hook on the gradient of a
// block's output marks the begin of its backward and the end of the next block's: the engine runs
// the newest ready node, and nodes that accumulate a parameter's gradient first. `books` must
// outlive the returned runner.
BlockRunner with_prefetch(BlockPrefetcher& books, BlockRunner inner);

}  // namespace headroom
