// What activation checkpointing does to the rows of a run. No torch here.
#pragma once

#include <vector>

#include "profiling/theory/rows.h"
#include "train/vocabulary/checkpoint.h"

namespace headroom {

// Of a row of kBlock.
BlockPart part_of(const RunSpec& spec, const Row& row);

// Note [Rows of what is computed again]
// Rationale: a block that is computed again keeps the input of its group alone; what backward then
//   makes alive is as large as what was saved, but of one group at a time.
// Approach: the blocks' rows go, but for the output that the next group begins with. What one
//   recomputation holds when it ends stands in groups of its own: the dropped rows of the largest
//   group (kRecomputed), the outputs between its blocks with them, and the weights it casts
//   (kRecomputedCast). The recomputation ends early: the group's own output is not made again.
// Limits: what lives and dies inside the recomputation, as in any forward, is in no row.
void checkpoint_rows(const RunSpec& spec, std::vector<Row>& rows);

// The blocks of the groups that are computed again.
Blocks recomputed_blocks(const RunSpec& spec);

// The most blocks that are computed again at once; 0 = none is.
int64_t recomputed_at_once(const RunSpec& spec);

// Whether nobody but the nodes that use them keeps the casts of a block's weights: on the CPU, and
// where they go with the weights (train/offload/prefetching_runner.cpp).
bool casts_are_their_nodes(const RunSpec& spec);

// The cast weights alive at the fullest instant. On CUDA autocast's cache has all of them when the
// forward ends. Where they are their nodes' a block that is computed again keeps none, but has them
// while its products run (on the CPU one at a time) and again when it is computed again.
int64_t cast_cache_bytes(const RunSpec& spec, const std::vector<Row>& rows);

}  // namespace headroom
