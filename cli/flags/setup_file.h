// --setup FILE: a command's settings as JSON, by the names of its flags. No torch here.
#pragma once

#include <vector>

#include "cli/flags/flags.h"

namespace headroom {

Flag setup_flag();

// Adds the file's settings as if they had been typed; typed ones take precedence. Keys are the
// names of `flags`, with underscores or dashes: {"model_size": "7b", "swap_phases": true}. Throws
// UsageError if the file is not an object, or has an unknown key.
Arguments with_setup_file(Arguments arguments, const std::vector<Flag>& flags);

}  // namespace headroom
