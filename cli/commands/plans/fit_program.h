// headroom fit --vary: the largest value with which a user's program runs. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/flags.h"

namespace headroom {

// words: the program and its arguments, after "--". The result is the exit code.
int fit_program(const Arguments& arguments, const std::vector<std::string>& words);

}  // namespace headroom
