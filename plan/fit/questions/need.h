// Theory's memory need of a run. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// Note [Theory proposes]
// Rationale: there are hundreds of sets of techniques, a rehearsal (profiling/theory/peak.h) takes
//   a tenth of a second for a large model, a cell a second.
// Approach: first a floor, the sums of rows that are alive at two instants of a step; then the
//   rehearsal with the card's memory, which counts fragmentation too; last a run on the virtual
//   card. A search takes the next step only if the one before leaves the question open. Where the
//   rehearsal does not model a run, the card answers in its place: Note [Asked of the card] in
//   plan/fit/questions/asked_card.h.
// Limits: the rehearsal models the allocator's default settings and expandable segments. For other
//   settings the default peak is a bound, and the card decides if a run fits.

// Bytes alive on the device at once: at the end of the forward, or during the optimizer's update.
// On a mesh: a lower bound for the fullest rank. Throws UsageError if --attention names a kernel
// that cannot run.
int64_t floor_bytes(const RunSpec& spec);

// Bytes alive throughout: weights, their master copy, the optimizer's state.
int64_t states_bytes(const RunSpec& spec);

// True if the rehearsal models the run. If not, a search asks the card
// (plan/fit/questions/asked_card.h).
bool has_predicted_need(const RunSpec& spec);

// The rehearsed peak. On a mesh: the fullest rank's, with NCCL's memory there
// (plan/cost/fullest_ranks.h). Requires has_predicted_need(spec), as do the next two.
int64_t predicted_need(const RunSpec& spec);

// The same from one rank of each stage: a few parts in a thousand below it.
int64_t predicted_roughly(const RunSpec& spec);

// True if theory finds room on a card with that many bytes beside its context; NCCL uses part of
// them.
bool predicted_to_fit(const RunSpec& spec, int64_t capacity);

// True if predicted_to_fit() counts fragmentation; otherwise the card is asked more often.
bool knows_allocator_of(const RunSpec& spec);

// Host memory beside the card; on a mesh of the one rank that keeps most.
struct HostNeed {
  int64_t pinned = 0;    // slabs, for copies to and from the card
  int64_t pageable = 0;  // ordinary memory
  int64_t bytes() const { return pinned + pageable; }
};
HostNeed predicted_host_need(const RunSpec& spec);

// Host memory of every run, for a moment: the tokens that it copies to the card, and one more if
// there are targets.
int64_t least_host_bytes(const RunSpec& spec);

// Bytes in files on a disk.
int64_t predicted_disk_bytes(const RunSpec& spec);

}  // namespace headroom
