// This process's loaded code and its addresses. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// The program or a shared library.
struct LoadedCode {
  std::string path;
  bool is_program = false;
  uint64_t base = 0;  // address in this process minus address in the file
  struct Range {
    uint64_t begin = 0;  // addresses in this process
    uint64_t end = 0;    // one past the last
  };
  std::vector<Range> ranges;

  bool holds(uint64_t address) const;
};

// All code loaded at this moment. It is found by address, so no path and no name of a program
// matters.
std::vector<LoadedCode> loaded_code();

}  // namespace headroom
