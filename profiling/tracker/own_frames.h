// Frames of the running program's own code, with file and line. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Note [Inlined frames]
// Rationale: our layers are thin, so the compiler folds them and ATen's inline wrappers into their
//   callers. A program counter then lies in a line of ATen's headers, and a symbolizer that names
//   only that loses the line of model/ that allocated.
// Approach: GCC's libbacktrace, in this process, reads the program's debug information and lists
//   the whole chain of inlined calls. No other program is started, so none can be missing, hang or
//   answer in a form nobody expects.
// Limits: libbacktrace also reads the symbols of every library that is loaded, a quarter of a
//   second for libtorch's, and cannot be told not to. The linker gives it a list of what is loaded
//   that ends with the program (--wrap, in cmake/FindLibbacktrace.cmake): 12 ms.

// For each address of this process that lies in the program: the function there and behind it
// those it was inlined into; nothing where there is no debug information. Not safe from several
// threads at once.
std::vector<std::vector<Frame>> own_frames_at(const std::vector<uint64_t>& addresses);

}  // namespace headroom
