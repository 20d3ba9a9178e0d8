// The libtorch that cells run with, and the Python beside it. No torch here.
//
// Note [The libtorch of a process]
// Rationale: libtorch is 5 GB and stays where pip or the user put it, while the program is
// installed
//   anywhere. A program with another copy of libtorch, as every dry run has, must keep its own.
// Approach: the run path of headroom-cell names the libtorch of the build. HEADROOM_TORCH_DIR names
//   another one of the same version, and comes before the run path, through the LD_LIBRARY_PATH of
//   cells and of no other process.
// Limits: headroom_bench links libtorch itself and has only the run path and LD_LIBRARY_PATH.
#pragma once

#include <string>
#include <vector>

namespace headroom {

// The torch/ folder: $HEADROOM_TORCH_DIR, or that of the build. It need not exist.
std::string torch_folder();

// A Python that imports this torch: $HEADROOM_PYTHON, or that of the environment in which torch is
// installed.
std::string torch_python();

// `set`, for changed_environment(), and the loader's path if the user named a libtorch. Throws
// std::runtime_error, one line, if the named folder has none.
std::vector<std::string> with_torch(std::vector<std::string> set);

}  // namespace headroom
