// No torch here.
#pragma once

#include <cstddef>

namespace headroom {

size_t cores();  // usable by this process; at least 1

}  // namespace headroom
