// Selects the rank of a mesh that fills its card. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// Note [Ranks that can be fullest]
// Rationale: nearly all of a thousand ranks are alike, and each rehearsal takes time.
// Approach: a card holds its rank's peak and NCCL's memory beside it.
//   Along tp the first rank has the largest parts, also of a vocabulary that tp does not divide.
//   Stages differ: the first keeps the most micro-batches for backward and has the table, the last
//   has the head and the loss. A stage between has neither, but NCCL's memory for two neighbours.
//   The earliest of these keeps most; a later one can exceed it only with more layers.
//   Under ZeRO replicas update different pieces of tensors, and the update's temporaries depend on
//   the pieces. Once the first replica is found to fit, one of each kind is rehearsed
//   (profiling/theory/ranks/distinct_replicas.h: a few dozen kinds at most for any number of
//   replicas). The fullest rank of each stage by theory is run.
// Limits: derived for 1f1b and gpipe; interleaved pieces use the same ranks. `headroom profile
//   --rank distinct` runs every kind; tests/plan/cost/fullest_ranks_test.cpp compares all ranks.

// Begins with first_ranks_of_stages().
std::vector<int64_t> ranks_that_can_be_fullest(const RunSpec& spec);

// The first replica's rank of each stage that can be fullest.
std::vector<int64_t> first_ranks_of_stages(const RunSpec& spec);

// NCCL's memory on a rank's card beside the allocator, assumed: half a GiB for the communicator of
// each axis of the mesh (plan/cost/library_bytes.h has two), and along pp for each neighbour. Runs
// on the virtual card use virtual_gpu/nccl/memory/own_bytes.h instead, which decides.
int64_t nccl_bytes_of(const RunSpec& spec, int64_t rank);

// By theory; has_predicted_peak(spec) must hold.
struct FullestRank {
  int64_t rank = 0;
  int64_t allocated = 0;  // its peak
  int64_t bytes = 0;      // with NCCL's memory
};
FullestRank predicted_fullest(const RunSpec& spec);
FullestRank predicted_fullest(const RunSpec& spec, const std::vector<int64_t>& of_these);

// The fullest rank of each stage that can be fullest: the ranks to run.
std::vector<int64_t> fullest_ranks(const RunSpec& spec);

}  // namespace headroom
