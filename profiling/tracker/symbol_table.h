// Functions' names out of a program's or library's own symbol table. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// Note [One pass over a symbol table]
// Rationale: libtorch_cpu alone has half a million symbols. dladdr() looks at all that are exported
//   for every address, and knows no others; sorting them all first takes longer than a small run.
// Approach: the addresses are sorted instead, a few thousand, and every symbol says once which of
//   them it covers.
// Limits: 64-bit ELF of this machine's byte order. A function without a symbol has no name, and
//   one of several at an address gives the name.

// The function at each address of the file, as C++ is written; "" where there is none, or where
// the file cannot be read.
std::vector<std::string> functions_at(const std::string& path,
                                      const std::vector<uint64_t>& addresses);

// "_ZN2at5emptyEv" as "at::empty()"; what is no such name stays.
std::string demangled(const char* name);

}  // namespace headroom
