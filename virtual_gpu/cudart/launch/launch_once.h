// The launch that represents a library's operation.
#pragma once

#include <cuda_runtime_api.h>

namespace virtual_gpu {

// One launch on this stream, however many kernels the operation has.
inline cudaError_t launch_once(cudaStream_t stream) {
  return cudaLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, stream);
}

}  // namespace virtual_gpu
