// --setup FILE: a command's settings as JSON, by the names of its flags. No torch here.
#pragma once

#include <vector>

#include "cli/flags/flags.h"

namespace headroom {

Flag setup_flag();

// What the file says, as if it had been typed; what was typed wins. Keys are the names of `flags`,
// with underscores or dashes: {"model_size": "7b", "swap_phases": true}. Throws UsageError where
// the file is no object, or has a key that is none of them.
Arguments with_setup_file(Arguments arguments, const std::vector<Flag>& flags);

}  // namespace headroom
