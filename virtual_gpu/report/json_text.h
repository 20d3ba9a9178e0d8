// Text in JSON.
#pragma once

#include <string>

namespace virtual_gpu {

// In quotes, escaped where needed; control characters become spaces.
std::string quoted(const std::string& text);

}  // namespace virtual_gpu
