// The live memory of a snapshot over its events, one area for each purpose. No torch here.
#pragma once

#include <string>

#include "profiling/report/figures/figure.h"
#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Draws the device with the highest peak. Each phase of the snapshot has its own scale, wider for
// more events; every column of the drawing shows its fullest event, so the peak that is drawn is
// the peak. Throws std::runtime_error, one line, if no block ever lives.
Figure memory_over_time(const Snapshot& snapshot, const std::string& name);

}  // namespace headroom
