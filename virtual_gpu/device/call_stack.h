// A call stack: addresses when it is recorded, names when it is reported.
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
  std::string library;  // its file; "" if unknown
  uint64_t offset = 0;  // in that file, for addr2line
  std::string name;     // demangled; "" if the file exports no such name
};

// Innermost first, without the stand-in's own frames.
std::vector<Frame> named(const CallStack& stack);

}  // namespace virtual_gpu
