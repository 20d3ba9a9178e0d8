// Frames of the running program's own code, with file and line. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Where `counter` is in the file of the running program; nothing for code of a shared library.
// Decided by what is loaded where, so that no path and no name of a program matters.
std::optional<uint64_t> offset_in_program(const void* counter);

// Note [Inlined frames]
// Rationale: our layers are thin, so the compiler folds them and ATen's inline wrappers into their
//   callers. A program counter then lies in a line of ATen's headers, and libtorch's symbolizer
//   names only that: the line of model/ that allocated would be missing.
// Approach: binutils' addr2line (it comes with the compiler) lists the whole chain of inlined
//   calls.
// Limits: without addr2line the frames are libtorch's, without the chain.

// The function at each offset, which is where a call returns to, and behind it those it was inlined
// into. Nothing where addr2line cannot be run.
std::optional<std::vector<std::vector<Frame>>> frames_in_program(
    const std::vector<uint64_t>& offsets);

}  // namespace headroom
