// Our cuDNN handle.
#pragma once

#include <cuda_runtime_api.h>

namespace virtual_gpu {

struct CudnnHandle {
  cudaStream_t stream = nullptr;
};

// One launch on the handle's stream. Returns a cudnnStatus_t.
int launch(const CudnnHandle* handle);

}  // namespace virtual_gpu
