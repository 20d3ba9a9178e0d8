// What the virtual card does not do or know: said once by name, or by library where a whole one is
// refused, then the library's own "not supported".
#pragma once

#include <string>
#include <vector>

namespace virtual_gpu {

// One line on stderr the first time this name, or its library, is refused.
void say_refused(const char* name);

// One line on stderr the first time: a figure the card's answer would give, and ours only supposes.
void say_assumed(const std::string& what);

// All that were refused, or assumed, so far.
std::vector<std::string> refused_names();
std::vector<std::string> assumptions();

}  // namespace virtual_gpu
