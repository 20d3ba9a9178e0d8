// Rows of --activations offload on the card and on the host. No torch here. Read beside
// train/offload/activations/offloaded_activations.h.
#pragma once

#include <vector>

#include "profiling/theory/rows.h"
#include "train/offload/host_traffic.h"

namespace headroom {

// Note [Rows on the host]
// Rationale: a save that goes to the host leaves the card when the second unit after its own begins
//   to save: the last units to save decide which blocks' rows stay.
// Approach: units in the order of their saves: a kept block, or the input of a recomputed group;
//   the last block, if kept, is none. A row that goes stays on the card for the last two units, and
//   has a row of kOffloaded, in space kHost, for all of its blocks. With offload-int8 both are of
//   codes and scales.
// Limits: as of Note [Rows in 8 bit]. Host memory is counted when the forward ends; slabs and units
//   of 4 KiB add to it (slab_bytes()).
void offload_saved(std::vector<Row>& rows, const RunSpec& spec);

// Pinned memory of everything offloaded.
int64_t host_pinned_bytes(const std::vector<Row>& rows);

// Over the host link in one step.
HostTraffic host_traffic(const std::vector<Row>& rows, const RunSpec& spec);

}  // namespace headroom
