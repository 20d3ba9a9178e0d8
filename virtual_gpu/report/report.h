// What this process asked of its virtual cards, as JSON.
#pragma once

#include <string>

namespace virtual_gpu {

// One JSON object. Of a process that has used CUDA.
std::string report();

}  // namespace virtual_gpu
