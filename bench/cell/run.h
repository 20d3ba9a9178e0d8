// One RunSpec measured in this process: RunSpec -> Record.
#pragma once

#include <cstdint>

#include "bench/launch/progress.h"
#include "profiling/record/record.h"

namespace headroom {

struct RunOptions {
  int64_t host_memory_bytes = 0;  // host allocations beyond it are refused; 0 = no limit
  bool watches = false;           // fills Record::watched; needs three recorded steps
  OnProgress on_progress;         // called between steps; see Note [Progress of a cell]
};

// Builds the step, warms up, times the measured steps (which give the peaks per phase), then
// records the last steps (breakdown, snapshot). Never throws: an out-of-memory, an unsupported
// device or an error is a Record with its status and reason. headroom_bench catches out-of-memory
// by the same rule (bench/cell/memory/out_of_memory.h).
//
// Call once per process: the host tracker stays installed, and a CUDA error may leave the context
// unusable.
Record run(const RunSpec& spec, const RunOptions& options);

}  // namespace headroom
