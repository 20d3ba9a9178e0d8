// What theory says that a run needs of its card. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "train/spec.h"

namespace headroom {

// Note [Theory proposes]
// Rationale: there are hundreds of sets of techniques, a rehearsal (profiling/theory/peak.h) takes
//   a tenth of a second for a large model, a cell a second.
// Approach: first a floor, the sums of rows that are alive at two instants of a step; then the
//   rehearsal with as much memory as the card has, which counts what is free in pieces too; last
//   what the virtual card says. A search asks for the next one only where the one before leaves it
//   open.
// Limits: the rehearsal is of the allocator's default settings and of expandable segments. Of other
//   settings the peak by default is looked at; of what it does not follow at all
//   (has_predicted_peak) the floor is all there is: there the card is asked more often.

// Bytes that are alive on the device at once: at the end of the forward, or while the optimizer
// updates. On a mesh: that its fullest rank has at least. Throws UsageError where --attention names
// a kernel that does not run.
int64_t floor_bytes(const RunSpec& spec);

// What is alive whatever goes through: weights, their master copy, the optimizer's state.
int64_t states_bytes(const RunSpec& spec);

// The rehearsed peak, or the floor where there is none. On a mesh: of its fullest rank.
int64_t predicted_need(const RunSpec& spec);

// Note [Ranks that can be fullest]
// Rationale: of a thousand ranks nearly all are alike, and a rehearsal takes its time.
// Approach: along tp the first has the largest parts. Stages differ: the first keeps the most
//   micro-batches for backward, the last has the head and the loss, and what does not divide of the
//   layers goes to the middle first. Under ZeRO each replica updates other pieces of tensors, and
//   what an update holds for a moment goes by pieces: every place is rehearsed, after it is known
//   that the first has room. Of each stage the fullest by theory is run.
// Limits: of more than kPlaces replicas so many, the ends among them.
// tests/plan/fit/meshes_test.cpp
//   holds it against all ranks; `headroom profile --rank distinct` runs every kind.
inline constexpr int64_t kPlaces = 8;

// First place 0 of each stage.
std::vector<int64_t> ranks_that_can_be_fullest(const RunSpec& spec);

// What NCCL takes of a rank's card beside the allocator, assumed: half a GiB for each axis of the
// mesh, each of which has a communicator (plan/cost/library_bytes.h has two). The virtual card
// takes what virtual_gpu/nccl/own_bytes.h says, and is believed.
int64_t nccl_bytes_of(const RunSpec& spec);

// The fullest of these by theory.
int64_t predicted_fullest_rank(const RunSpec& spec);

// And that of each stage that can have it: what is run.
std::vector<int64_t> fullest_ranks(const RunSpec& spec);

// Whether theory finds that it fits a card with so many bytes beside its context.
bool predicted_to_fit(const RunSpec& spec, int64_t capacity);

// Whether that counts what is free in pieces; else the card is asked more often.
bool knows_allocator_of(const RunSpec& spec);

// Kept in host memory beside the card; on a mesh by one rank, where no axis but dp has several.
struct HostNeed {
  int64_t pinned = 0;    // slabs, for copies to and from the card
  int64_t pageable = 0;  // ordinary memory
  int64_t bytes() const { return pinned + pageable; }
};
HostNeed predicted_host_need(const RunSpec& spec);

// In files on a disk.
int64_t predicted_disk_bytes(const RunSpec& spec);

}  // namespace headroom
