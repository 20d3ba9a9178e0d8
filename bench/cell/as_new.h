// A process between two cells of a warm worker: Note [Warm workers] in bench/launch/worker.h.
//
// Note [What a cell leaves behind]
// Rationale: the next cell's Record must be the one that a new process gives.
// Approach: begin_as_new() puts back all that libtorch keeps for a process: cuBLAS's workspaces,
// the cast cache of autocast,
//   what the allocators of the card and of pinned memory have cached, their peaks, the number of
//   threads, oneDNN's switch, and the peak of resident memory. Weights and tokens have generators
//   that each run seeds. Then it compares the card with what it held before the first cell: where
//   one byte more is in use, the process is not as new, and the worker declines.
// Limits: handles of cuBLAS and streams stay. A virtual card counts no memory for them; on a real
// card they do count,
//   so workers have no real card. Host memory that libtorch keeps in statics is not compared here
//   but by a test.
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
