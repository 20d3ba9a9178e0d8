// Which rank of a mesh fills its card. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "train/spec.h"

namespace headroom {

// Note [Ranks that can be fullest]
// Rationale: of a thousand ranks nearly all are alike, and a rehearsal takes its time.
// Approach: a card has its rank's peak and what NCCL takes beside it.
//   Along tp the first has the largest parts, of a vocabulary that tp does not divide too.
//   Stages differ: the first keeps the most micro-batches for backward and has the table, the last
//   has the head and the loss. One between has neither, but two neighbours, and what NCCL keeps for
//   each; of those the earliest keeps most, and a later one can have more only with more layers.
//   Under ZeRO replicas update other pieces of tensors, and what an update holds for a moment goes
//   by pieces: one of each kind is rehearsed (profiling/theory/ranks/distinct_replicas.h: of any
//   number of replicas a few dozen kinds at most), after it is known that the first has room. Of
//   each stage the fullest by theory is run.
// Limits: of stages as 1f1b and gpipe order them; of interleaved pieces the same are
//   taken. tests/plan/cost/fullest_ranks_test.cpp holds it against all ranks; `headroom profile
//   --rank distinct` runs every kind.

// First those of first_ranks_of_stages().
std::vector<int64_t> ranks_that_can_be_fullest(const RunSpec& spec);

// The first replica's of each stage that can have it.
std::vector<int64_t> first_ranks_of_stages(const RunSpec& spec);

// What NCCL takes of a rank's card beside the allocator, assumed: half a GiB for each axis of the
// mesh, each of which has a communicator (plan/cost/library_bytes.h has two), and along pp for each
// neighbour. The virtual card takes what virtual_gpu/nccl/own_bytes.h says, and is believed.
int64_t nccl_bytes_of(const RunSpec& spec, int64_t rank);

// By theory, of a spec that has_predicted_peak() knows.
struct FullestRank {
  int64_t rank = 0;
  int64_t allocated = 0;  // its peak
  int64_t bytes = 0;      // with what NCCL takes
};
FullestRank predicted_fullest(const RunSpec& spec);
FullestRank predicted_fullest(const RunSpec& spec, const std::vector<int64_t>& of_these);

// And that of each stage that can have it: what is run.
std::vector<int64_t> fullest_ranks(const RunSpec& spec);

}  // namespace headroom
