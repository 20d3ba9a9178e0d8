// Host memory of one rank of a mesh. No torch here.
#pragma once

#include <cstdint>

#include "train/settings/spec.h"

namespace headroom {

// Note [Host memory of a rank]
// Rationale: rows (Note [Rows on the host]) are of a whole model. A rank's host memory holds
//   its stage's layers, its part of each matrix, its shard of the replicas' tensors, and the saves
//   of all micro-batches that its stage has at once.
// Approach: one step of the rank is rehearsed with the step's own bookkeeping of its pinned slabs
//   (train/offload/states/host_ranges.h). Every step takes as much as the first.
// Limits: as of Note [Rehearsal]. A rank has no files.
struct RankHost {
  int64_t pinned = 0;    // bytes, in slabs
  int64_t pageable = 0;  // states that the host updates, and the batch while it is made
};

// The spec must satisfy has_predicted_peak().
RankHost rehearsed_host(const RunSpec& spec, int64_t rank);

}  // namespace headroom
