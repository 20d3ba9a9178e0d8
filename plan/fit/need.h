// What theory says that a run needs of its card. No torch here.
#pragma once

#include <cstdint>

#include "train/spec.h"

namespace headroom {

// Note [Theory proposes]
// Rationale: there are hundreds of sets of techniques, a rehearsal (profiling/theory/peak.h) takes
//   a tenth of a second for a large model, a cell a second.
// Approach: three figures, each cheaper than the next and never above it where theory is right: a
//   floor, the sums of rows that are alive at two instants of a step; the rehearsed peak; what the
//   virtual card says. A search asks for the next one only where the one before leaves it open.
// Limits: the rehearsal knows no settings of the allocator: they change what is reserved, hardly
//   what is allocated. Of what it does not follow at all (has_predicted_peak) the floor is all
//   there is, and the card is asked more often.

// Bytes that are alive on the device at once: at the end of the forward, or while the optimizer
// updates. Throws UsageError where --attention names a kernel that does not run.
int64_t floor_bytes(const RunSpec& spec);

// The rehearsed peak, or the floor where there is none.
int64_t predicted_need(const RunSpec& spec);

// Kept in host memory beside the card.
int64_t predicted_host_bytes(const RunSpec& spec);

}  // namespace headroom
