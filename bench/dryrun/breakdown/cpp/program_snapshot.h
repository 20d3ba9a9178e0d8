// The memory_viz snapshot of a C++ program.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace headroom {

// Note [Snapshot of a C++ program]
// Rationale: libtorch's own C++ function writes the history as one list, which memory_viz does not
//   open beyond 125,000 events, and starts a program to name the lines.
// Approach: the recorder and the writer of our own cells (profiling/tracker/cuda_snapshot.h) record
//   from the first block on. The file is of the process's end, or of the moment at which memory ran
//   out, unless the program allocated memory after it.
// Limits: the first block is older than the history, so its allocation is not an event. There is no
//   file if the program ends a recording of its own, which ends ours.

// True if `headroom dryrun --snapshot` runs this program.
bool wants_program_snapshot();
// Under the allocator's lock, on the thread that allocates the first block.
void begin_program_snapshot(const void* first_block);
void program_allocates();  // a later block
void write_snapshot_of_refusal();
// At the end: writes the file, and returns the fields "snapshot" and "snapshot_error" of the
// process's report.
nlohmann::json finish_program_snapshot();

}  // namespace headroom
