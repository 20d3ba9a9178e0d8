// The directories in which runs keep something. No torch here.
#pragma once

#include <vector>

#include "train/spec.h"

namespace headroom {

// Before anything runs: whether states could be kept where --optimizer-offload says, and weights
// where --param-offload does, a virtual card's too; and whether states that an earlier run kept are
// of one of these runs at least. Devices are settled by now. Throws WriteError
// (files/replace_file.h), and of kept states what StateDirectory throws.
void check_disk_places(const std::vector<RunSpec>& specs);

}  // namespace headroom
