// The line of a C++ program that allocates on this thread.
#pragma once

#include <cstdint>
#include <string>

namespace headroom {

// Note [Lines of a C++ program]
// Rationale: a block belongs to a line of the program. In C++ no interpreter knows the running one.
// Approach: an allocation takes the thread's program counters, a few microseconds, and equal stacks
//   have one number. Names are found for a report alone: the innermost frame in the program or in
//   its own libraries, outside of the headers of libtorch and of the compiler. It has file and line
//   where debug information is (-g1 is enough), inlined calls included; else its function, by the
//   symbol table.
// Limits: libraries below libtorch's folder, the system's and a Python's packages are not the
//   program's. A thread of autograd's engine has no line: its blocks have the line that runs
//   backward.

// The number of the name of this thread's stack, see number_of(); 0 if no code of the program runs.
uint32_t cpp_place();

// "train.cpp:42 in Net::forward" for the text of such a number; "" if no line is known.
std::string cpp_place_text(const std::string& stack);

}  // namespace headroom
