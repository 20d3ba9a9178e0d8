// The node that autograd runs on this thread of a C++ program. Not for Python, whose own nodes take
// the interpreter's lock for their name.
#pragma once

#include <cstdint>

namespace headroom {

// The number of its name (context.h); 0: none runs.
uint32_t running_node();

// True if no line of the program can run inside it: one of libtorch's own nodes, without hooks, and
// not of a backward within a backward. A stack taken there shows the engine alone.
bool is_in_libtorchs_node();

}  // namespace headroom
