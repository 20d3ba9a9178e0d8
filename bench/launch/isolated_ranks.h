// Ranks of one cell on virtual cards, each alone, one after the other. No torch here.
//
// Note [Lone ranks]
// Rationale: what a rank of a thousand needs is asked for more often than there are a thousand
//   processes' worth of memory.
// Approach: one rank runs as it would among the others; its store and the virtual NCCL answer for
//   them (Note [A rank alone] in train/parallel/ranks/single_rank_store.h). Which ranks differ is
//   found by running some of each axis (Note [Distinct ranks]); one of each kind stands in the
//   Record, with the ranks that are like it.
// Limits: virtual cards, where no rank waits for another one's values.
#pragma once

#include "bench/launch/cell.h"

namespace headroom {

// As run_cell(), of a spec whose mesh is more than one rank, of options.ranks that are not all.
Record run_isolated_ranks(const RunSpec& spec, const CellOptions& options);

}  // namespace headroom
