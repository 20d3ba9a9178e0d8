// Text as JSON has it.
#pragma once

#include <string>

namespace virtual_gpu {

// In quotes, what needs it escaped; control characters become spaces.
std::string quoted(const std::string& text);

}  // namespace virtual_gpu
