// Runs ranks of one cell on virtual cards, each alone, one after the other. No torch here.
//
// Note [Lone ranks]
// Rationale: a user asks for the memory of a rank among a thousand, without host memory for a
//   thousand processes.
// Approach: one rank runs as it would among the others; its store and the virtual NCCL answer for
//   them (Note [A rank alone] in train/parallel/ranks/single_rank_store.h). The ranks that differ
//   are found by running some of each axis (Note [Distinct ranks]); the Record has one of each
//   kind, with the equal ranks.
// Limits: only virtual cards, where no rank depends on another one's values.
#pragma once

#include "bench/launch/cell.h"

namespace headroom {

// Like run_cell(), for a spec with more than one rank, where options.ranks is not kAll.
Record run_isolated_ranks(const RunSpec& spec, const CellOptions& options);

}  // namespace headroom
