// No torch here.
#pragma once

#include <cstddef>

namespace headroom {

size_t cores();  // that this process may use; at least 1

}  // namespace headroom
