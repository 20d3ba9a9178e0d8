// One RunSpec run in a process of its own, seen from the parent. No torch here: the parent never
// loads libtorch and never touches CUDA, so nothing of one run can reach the next.
//
// Note [The cell program]
// Rationale: an out-of-memory, a crash or a poisoned CUDA context must cost one row, not the sweep.
// Approach: `headroom-cell` (bench/cell/cell_main.cpp) is the program that links libtorch; beside
//   it only headroom_bench does, which times steps in its own process. It reads one JSON object
//   {"spec": {...}, "host_memory_bytes": N, "progress": true} on stdin (bench/cell/request.h),
//   writes exactly one Record as one JSON line on stdout, talks on stderr, and exits 0 when it
//   wrote a Record, whatever the Record's status. `headroom-cell --identity` prints what it is, as
//   JSON (cell_identity below). Its main() begins with die_with_parent()
//   (bench/process/child_process.h). spec.alloc_conf is already in its environment as
//   PYTORCH_CUDA_ALLOC_CONF, set before libtorch's allocator reads it.
// Limits: about half a second of start-up per cell (libtorch's libraries are mapped each time).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/cell/progress.h"
#include "bench/process/host_memory.h"
#include "profiling/record.h"

namespace headroom {

struct CellOptions {
  std::string program;            // "" = $HEADROOM_CELL, else headroom-cell beside this program
  double deadline_seconds = 0;    // killed after this long (status timeout); 0 = no deadline
  int64_t host_memory_bytes = 0;  // the run's host allocations are refused beyond it; 0 = no limit
  // One line of the cell's stderr, without the newline.
  std::function<void(const std::string& line)> on_talk;
  OnProgress on_progress;  // asked of the cell where it is set; these lines are no talk
  KernelPaths kernel;      // where the out-of-memory killer's counters are
};

// Runs one cell and waits for it. Always returns a Record:
//   the cell's own; or kKilled ("killed by signal 9 (SIGKILL)", and whether the kernel's
//   out-of-memory killer ran), kTimeout, or kFailed (exit code and the last line of stderr) when it
//   wrote none. Its environment holds "cell": {pid, seconds, max_rss_bytes, host_memory_bytes}.
// After SIGINT or SIGTERM (bench/process/interrupt.h) the cell is killed and the Record is kKilled
// with the reason "interrupted": not a result.
Record run_cell(const RunSpec& spec, const CellOptions& options);

// The program that run_cell would start.
std::string cell_program(const CellOptions& options);

// {"build": "<git commit>[+dirty-<hash>]", "build_settings": "Release, GNU 12.2.0", "libtorch":
// "2.11.0", "devices": ["..."], "cpu": "..."}. Throws std::runtime_error with one line when the
// program is missing or does not answer.
nlohmann::json cell_identity(const CellOptions& options);

}  // namespace headroom
