// Where something that a step owns is kept while nothing computes with it. No torch here.
#pragma once

#include "train/memory_space.h"

namespace headroom {

// What a flag takes that offloads something: "none" (it stays on the device), "cpu", "nvme".
const EnumWords<MemorySpace>& offload_words();

}  // namespace headroom
