// Checks the directories in which runs keep files. No torch here.
#pragma once

#include <vector>

#include "train/settings/spec.h"

namespace headroom {

// Call before anything runs, after devices are resolved. Checks that states can be kept at
// --optimizer-offload's directory and weights at --param-offload's, a virtual card's too, and that
// states from an earlier run belong to one of these runs. Throws WriteError (files/replace_file.h),
// and as StateDirectory for kept states.
void check_disk_places(const std::vector<RunSpec>& specs);

}  // namespace headroom
