// A recorded stack in readable form. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// "model/attention.cpp:88 Attention::forward": the file's last folder, and the name without
// arguments, templates and our namespace. Only the name if the line is unknown.
std::string readable_frame(const Frame& frame);

// "model/attention.cpp:88 Attention::forward" for frames with a source line of ours, innermost
// first, then one line for libtorch: the operators called, outermost first.
std::vector<std::string> readable_stack(const Snapshot& snapshot, int32_t stack);

}  // namespace headroom
