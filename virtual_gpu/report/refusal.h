// Functions and figures that the virtual card lacks: reported once by name, or by library if all of
// it is refused; the call returns the library's own "not supported".
#pragma once

#include <string>
#include <vector>

namespace virtual_gpu {

// One line on stderr the first time this name, or its library, is refused.
void say_refused(const char* name);

// One line on stderr the first time: a figure that is assumed where a card would give it.
void say_assumed(const std::string& what);

// All names refused, and all figures assumed, so far.
std::vector<std::string> refused_names();
std::vector<std::string> assumptions();

}  // namespace virtual_gpu
