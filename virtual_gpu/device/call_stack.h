// Where in the program something happened, as addresses when it does and as names when it is told.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace virtual_gpu {

struct CallStack {
  std::array<void*, 48> addresses{};
  int size = 0;
};

CallStack call_stack();

struct Frame {
  std::string library;  // the file it is in; "" when unknown
  uint64_t offset = 0;  // in that file, for addr2line
  std::string name;     // demangled; "" when the file exports no such name
};

// Innermost first, without the stand-in's own.
std::vector<Frame> named(const CallStack& stack);

}  // namespace virtual_gpu
