// What theory says that a run needs of its card. No torch here.
#pragma once

#include <cstdint>

#include "train/spec.h"

namespace headroom {

// Note [Theory proposes]
// Rationale: there are hundreds of sets of techniques, a rehearsal (profiling/theory/peak.h) takes
//   a tenth of a second for a large model, a cell a second.
// Approach: first a floor, the sums of rows that are alive at two instants of a step; then the
//   rehearsal with as much memory as the card has, which counts what is free in pieces too; last
//   what the virtual card says. A search asks for the next one only where the one before leaves it
//   open.
// Limits: the rehearsal is of the allocator's default settings. With expandable segments the peak
//   alone is looked at, with a fiftieth of the card to spare: what is lost to pages of 2 and
//   20 MiB. Of what it does not follow at all (has_predicted_peak) the floor is all there is, and
//   the card is asked more often.

// Bytes that are alive on the device at once: at the end of the forward, or while the optimizer
// updates. Throws UsageError where --attention names a kernel that does not run.
int64_t floor_bytes(const RunSpec& spec);

// The rehearsed peak, or the floor where there is none.
int64_t predicted_need(const RunSpec& spec);

// Whether theory finds that it fits a card with so many bytes beside its context.
bool predicted_to_fit(const RunSpec& spec, int64_t capacity);

// Kept in host memory beside the card: slabs of pinned memory, and with them ordinary memory.
int64_t predicted_pinned_bytes(const RunSpec& spec);
int64_t predicted_host_bytes(const RunSpec& spec);

}  // namespace headroom
