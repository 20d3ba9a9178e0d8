// The directories in which runs keep something. No torch here.
#pragma once

#include <vector>

#include "train/spec.h"

namespace headroom {

// Before anything runs: whether states could be kept where --optimizer-offload says, and weights
// where --param-offload does, a virtual card's too. Throws WriteError (files/replace_file.h).
void check_disk_places(const std::vector<RunSpec>& specs);

}  // namespace headroom
