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
//   open. Where the rehearsal does not follow a run, the card answers in its place: Note [Asked of
//   the card] in plan/fit/questions/asked_card.h.
// Limits: the rehearsal is of the allocator's default settings and of expandable segments. Of other
//   settings the peak by default is a bound, and the card says whether a run fits.

// Bytes that are alive on the device at once: at the end of the forward, or while the optimizer
// updates. On a mesh: that its fullest rank has at least. Throws UsageError where --attention names
// a kernel that does not run.
int64_t floor_bytes(const RunSpec& spec);

// What is alive whatever goes through: weights, their master copy, the optimizer's state.
int64_t states_bytes(const RunSpec& spec);

// Whether the rehearsal follows the run. Where it does not, a search asks the card
// (plan/fit/questions/asked_card.h).
bool has_predicted_need(const RunSpec& spec);

// The rehearsed peak. On a mesh: of its fullest rank, with what NCCL takes there
// (plan/cost/fullest_ranks.h). Of a spec that has_predicted_need() knows, as the next two.
int64_t predicted_need(const RunSpec& spec);

// The same of the ranks alone that stand for their stages: some parts in a thousand below it.
int64_t predicted_roughly(const RunSpec& spec);

// Whether theory finds that it fits a card with so many bytes beside its context, of which NCCL has
// its part.
bool predicted_to_fit(const RunSpec& spec, int64_t capacity);

// Whether that counts what is free in pieces; else the card is asked more often.
bool knows_allocator_of(const RunSpec& spec);

// Kept in host memory beside the card; on a mesh by one rank, the one that keeps most.
struct HostNeed {
  int64_t pinned = 0;    // slabs, for copies to and from the card
  int64_t pageable = 0;  // ordinary memory
  int64_t bytes() const { return pinned + pageable; }
};
HostNeed predicted_host_need(const RunSpec& spec);

// What every run has there, for a moment: the tokens that it copies to the card, and one more where
// there are targets.
int64_t least_host_bytes(const RunSpec& spec);

// In files on a disk.
int64_t predicted_disk_bytes(const RunSpec& spec);

}  // namespace headroom
