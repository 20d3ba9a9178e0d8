// Segments for a device that has none. No torch here.
#pragma once

#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Note [Segments of the host]
// Rationale: memory_viz draws a block inside a segment, at every moment of the trace. The host's
//   malloc has no segments, and one per live block would leave every block that was freed in the
//   trace outside of all of them.
// Approach: a segment is a range of addresses that blocks of the trace, or live ones, have covered
//   without a gap; what no live block covers is an inactive block of it.
// Limits: total_size is address space that was used at some time, not memory held.
std::vector<Segment> host_segments(std::vector<Block> live, const std::vector<TraceEvent>& trace);

}  // namespace headroom
