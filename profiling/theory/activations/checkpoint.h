// The effect of activation checkpointing on a run's rows. No torch here.
#pragma once

#include <vector>

#include "profiling/theory/rows.h"
#include "train/settings/vocabulary/checkpoint.h"

namespace headroom {

// For a row of kBlock.
BlockPart part_of(const RunSpec& spec, const Row& row);

// Note [Rows of what is computed again]
// Rationale: a recomputed block keeps only the input of its group. Backward then makes as much
//   memory as was saved, but for one group at a time.
// Approach: the blocks' rows are removed, except the output that the next group begins with. The
//   memory of one recomputation at its end has groups of its own: the removed rows of the largest
//   group (kRecomputed), with the outputs between its blocks, and the weights it casts
//   (kRecomputedCast). The recomputation ends early: the group's own output is not made again.
// Limits: tensors that live and die inside the recomputation, as in any forward, have no row.
void checkpoint_rows(const RunSpec& spec, std::vector<Row>& rows);

// The blocks of recomputed groups.
Blocks recomputed_blocks(const RunSpec& spec);

// The most blocks that are recomputed at once; 0 = none.
int64_t recomputed_at_once(const RunSpec& spec);

// True if only the nodes that use them keep the casts of a block's weights: on the CPU, and if they
// are released with the weights (train/offload/blocks/prefetching_runner.cpp).
bool casts_are_their_nodes(const RunSpec& spec);

// The cast weights alive at the fullest instant. On CUDA autocast's cache has all of them when the
// forward ends. If only nodes keep them, a recomputed block keeps none, but has them while its
// products run (on the CPU one at a time) and again during its recomputation.
int64_t cast_cache_bytes(const RunSpec& spec, const std::vector<Row>& rows);

}  // namespace headroom
