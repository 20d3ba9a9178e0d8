// What the virtual card does not do: said once by name, then the library's own "not supported".
#pragma once

#include <string>
#include <vector>

namespace virtual_gpu {

// One line on stderr the first time this name is refused.
void say_refused(const char* name);

// All that were refused so far.
std::vector<std::string> refused_names();

}  // namespace virtual_gpu
