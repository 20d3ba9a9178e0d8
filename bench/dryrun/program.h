// The program of a dry run, looked at before it runs: found, and of a kind that the stand-in can be
// preloaded into. No torch here.
#pragma once

#include <string>

namespace headroom {

// The file that `word` names, searched for in $PATH as a shell does. Throws std::runtime_error, one
// line: not found, a directory, not executable.
std::string find_program(const std::string& word);

// Throws UsageError, one line with the reason: linked statically, holds a CUDA runtime of its own,
// runs with another user's rights. A script is taken as it is.
void check_can_preload(const std::string& path);

}  // namespace headroom
