// What this process asked of its virtual cards, as JSON, when it ends.
#pragma once

#include <string>

namespace virtual_gpu {

// One JSON object; "" when the process never used CUDA.
std::string report();

}  // namespace virtual_gpu
