// The Python packages that recipes run with. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

// The path of a program of recipes/, beside the running program.
std::string recipe_path(const std::string& file);

// False in a build tree.
bool is_installed();

// The command that installs the packages of "finetune", "torchtune", "serve" or "sglang": of the
// source tree, or of an installed program.
std::string stack_installation(const std::string& stack);

// The Python of these packages: $HEADROOM_FINETUNE_PYTHON, and so on, or the one that
// recipes/install.sh made, in the build tree or in the user's folder of data. Throws
// std::runtime_error, one line, if there is none.
std::string stack_python(const std::string& stack);

// The words as a line for a shell. A path inside the working directory becomes relative.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace headroom
