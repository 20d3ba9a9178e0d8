// Replicas that differ in their allocations. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// Note [Replicas that differ]
// Rationale: under ZeRO each replica updates other pieces of tensors, and the temporaries of an
//   update depend on its pieces. All else is alike in replicas.
// Approach: two replicas whose parts are cut from the same parameters, in pieces of the same
//   lengths, request the same blocks in the same order. A part differs from its neighbour only
//   where a parameter begins or ends, and blocks of layers are alike: a thousand replicas have a
//   few dozen kinds at most. The last one, whose part is shorter, is one of them.
// Limits: none: tests/plan/cost/fullest_ranks_test.cpp checks it against every replica.

// One replica of each kind among those of the rank's stage and tp place; the rank itself is first.
// Without ZeRO the rank stands for all.
std::vector<int64_t> distinct_replicas(const RunSpec& spec, int64_t rank);

}  // namespace headroom
