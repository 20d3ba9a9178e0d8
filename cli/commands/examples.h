// Two examples of each command, with which its --help begins. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

// Commands as typed, of at most 78 columns: a terminal of 80 does not break them.
std::vector<std::string> examples_of(const std::string& command);

}  // namespace headroom
