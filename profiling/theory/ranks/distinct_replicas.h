// Replicas whose steps differ in what they allocate. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "train/spec.h"

namespace headroom {

// Note [Replicas that differ]
// Rationale: under ZeRO each replica updates other pieces of tensors, and what an update holds for
//   a moment goes by its pieces. All else that replicas do is alike.
// Approach: two replicas whose parts are cut from the same parameters, in pieces of the same
//   lengths, ask for the same blocks in the same order. A part begins to differ from its neighbour
//   where a parameter begins or ends, and blocks of layers are alike: of a thousand replicas a few
//   dozen kinds at most are left, and the last one, whose part is shorter, is one of them.
// Limits: none: tests/plan/cost/fullest_ranks_test.cpp holds it against every replica.

// Of the replicas of the rank's stage and place along tp one of each kind, the rank's own first
// (or that which stands for it). Without ZeRO it stands for all.
std::vector<int64_t> distinct_replicas(const RunSpec& spec, int64_t rank);

}  // namespace headroom
