// What one rank of a mesh keeps in host memory. No torch here.
#pragma once

#include <cstdint>

#include "train/spec.h"

namespace headroom {

// Note [Host memory of a rank]
// Rationale: rows (Note [Rows on the host]) are a whole model's. What a rank keeps on the host is
//   its stage's layers, its cut of matrices, its part of what replicas share, and as many
//   micro-batches' saves as its stage has at once.
// Approach: one step of the rank is rehearsed, and the books that the step keeps of its pinned
//   slabs (train/offload/host_ranges.h) are kept with it. Every step takes what the first one took.
// Limits: as of Note [Rehearsal]. Files are none of a rank's.
struct RankHost {
  int64_t pinned = 0;    // bytes, in slabs
  int64_t pageable = 0;  // states of what the host updates, and the batch while it is made
};

// Of a spec that has_predicted_peak() knows.
RankHost rehearsed_host(const RunSpec& spec, int64_t rank);

}  // namespace headroom
