// Checks the program of a dry run before it runs: it exists, and the stand-in can be preloaded into
// it. No torch here.
#pragma once

#include <string>

namespace headroom {

// The PATH of a dry run. The stand-ins for programs of the driver (nvidia-smi) come first.
std::string dry_run_path();

// The file named by `word`, searched for in that path as a shell does. Throws std::runtime_error,
// one line: not found, a directory, not executable.
std::string find_program(const std::string& word);

// Throws UsageError, one line with the reason: linked statically, holds its own CUDA runtime, runs
// with another user's rights. A script is not checked.
void check_can_preload(const std::string& path);

}  // namespace headroom
