// Function names from the symbol table of a program or library. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// Note [One pass over a symbol table]
// Rationale: libtorch_cpu alone has half a million symbols. dladdr() searches all exported symbols
//   for every address, and has no others. Sorting them all first takes longer than a small run.
// Approach: the few thousand addresses are sorted instead. Each symbol then finds the addresses
//   that it covers, once.
// Limits: 64-bit ELF of this machine's byte order. A function without a symbol has no name. Of
//   several symbols at an address, one gives the name.

// The function at each address of the file, as written in C++; "" if there is none or the file
// cannot be read.
std::vector<std::string> functions_at(const std::string& path,
                                      const std::vector<uint64_t>& addresses);

// "_ZN2at5emptyEv" as "at::empty()"; other names stay.
std::string demangled(const char* name);

}  // namespace headroom
