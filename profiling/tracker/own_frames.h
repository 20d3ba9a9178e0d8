// Frames of loaded code that has debug information, with file and line. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/snapshot/snapshot.h"
#include "profiling/tracker/loaded_code.h"

namespace headroom {

// Note [Inlined frames]
// Rationale: our layers are thin, so the compiler folds them and ATen's inline wrappers into their
//   callers. A program counter then lies in a line of ATen's headers. A symbolizer that names only
//   that line loses the line of model/ that allocated.
// Approach: GCC's libbacktrace, in this process, reads the debug information and lists the whole
//   chain of inlined calls. No other program is started, so none can be missing, hang or answer in
//   an unknown form.
// Limits: libbacktrace also reads the symbols of every loaded library, always: a quarter of a
//   second for libtorch's. The linker (--wrap, in cmake/FindLibbacktrace.cmake) gives it a list
//   with the wanted code alone: 12 ms for our program.

// For each address in `code`: the function there, then the functions it was inlined into; empty
// without debug information. Not thread-safe.
std::vector<std::vector<Frame>> own_frames_at(const LoadedCode& code,
                                              const std::vector<uint64_t>& addresses);

}  // namespace headroom
