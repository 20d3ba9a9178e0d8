// Segments for a device that has none. No torch here.
#pragma once

#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Note [Segments of the host]
// Rationale: memory_viz draws a block inside a segment, at every moment of the trace. The host's
//   malloc has no segments, and one per live block would leave every block freed in the trace
//   outside of all segments.
// Approach: a segment is the union of overlapping address ranges of live blocks and of blocks of
//   the trace. Parts without a live block are inactive blocks.
// Limits: total_size is address space that was used at some time, not held memory.
std::vector<Segment> host_segments(std::vector<Block> live, const std::vector<TraceEvent>& trace);

}  // namespace headroom
