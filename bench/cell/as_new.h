// A process between two cells of a warm worker: Note [Warm workers] in bench/launch/worker.h.
//
// Note [What a cell leaves behind]
// Rationale: the next cell's Record must be the one that a new process gives.
// Approach: begin_as_new() puts back what libtorch keeps for a process: the workspaces of
// cuBLAS, the cast cache of autocast, what the allocators of the card and of pinned memory have
// cached and their peaks, and the peak of resident memory. Then it compares the card with what
// it held before the first cell: where one byte more is in use, the process is not as new, and
// the worker declines. A run itself sets the number of threads, oneDNN's switch, and the seeds
// of weights and tokens.
// Limits: handles of cuBLAS and streams stay. A virtual card counts no memory for them. A real
// card does, so workers have no real card. A test compares the host memory that libtorch keeps
// in statics, not this function.
#pragma once

#include <string>

namespace headroom {

// Returns "" where the process is as new, and else why it is not. Called before each cell.
std::string begin_as_new();

// The highest resident size since the last begin_as_new(), bytes; of the process's whole life where
// the kernel does not tell.
int64_t max_resident_bytes();

// libtorch's own choice for 0, whatever an earlier run of the process asked for.
void set_threads(int64_t threads);

}  // namespace headroom
