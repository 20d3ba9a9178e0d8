// The process's use of its virtual cards, as JSON.
#pragma once

#include <string>

namespace virtual_gpu {

// One JSON object. The process must have used CUDA.
std::string report();

}  // namespace virtual_gpu
