// The line of code that stands for a stack. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// "train.py:12 step": the innermost frame of the program, without frameworks; "backward of
// train.py:12 step" for memory that autograd allocates; an operator if no frame is the program's;
// "" without frames.
std::string code_line(const Snapshot& snapshot, int32_t stack);

// Every frame, innermost first: "name (file:line) < name (file:line)".
std::string whole_stack(const Snapshot& snapshot, int32_t stack);

// "train.py step": the same for a line that moved within its function.
std::string without_line_numbers(const std::string& line);

}  // namespace headroom
