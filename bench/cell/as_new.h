// Resets a warm worker's process between two cells: Note [Warm workers] in bench/launch/worker.h.
//
// Note [State left by a cell]
// Rationale: the next cell's Record must equal that of a new process.
// Approach: begin_as_new() resets libtorch's state of the process: the cuBLAS workspaces, the
// autocast cast cache, the cached memory and peaks of the card's and the pinned allocator, and
// the peak of resident memory. Then it compares the card's memory in use with that before the
// first cell: if it differs by one byte, the process is not as new, and the worker declines. A
// run itself sets the number of threads, oneDNN's switch, and the seeds of weights and tokens.
// Limits: cuBLAS handles and streams stay. They take no memory on a virtual card, but do on a
// real one, so workers have no real card. The host memory in libtorch's statics is compared by a
// test, not by this function.
#pragma once

#include <string>

namespace headroom {

// Returns "" if the process is as new, otherwise the reason why not. Called before each cell.
std::string begin_as_new();

// The highest resident size since the last begin_as_new(), bytes; if the kernel does not report
// it, since the start of the process.
int64_t max_resident_bytes();

// 0 = libtorch's own choice, not the setting of an earlier run in the process.
void set_threads(int64_t threads);

}  // namespace headroom
