// Writes a Snapshot as the pickle that memory_viz and torch's _memory_viz.py open. No torch here.
#pragma once

#include <string>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// The dict of torch 2.11: segments, device_traces, allocator_settings, external_annotations. The
// file appears whole or not at all; an earlier file of that name survives a failure. Throws
// std::runtime_error with one line: path and reason.
void write_snapshot(const Snapshot& snapshot, const std::string& path);

}  // namespace headroom
