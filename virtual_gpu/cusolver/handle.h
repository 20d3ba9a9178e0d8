// Our cuSOLVER handle.
#pragma once

#include <cuda_runtime_api.h>

namespace virtual_gpu {

struct CusolverHandle {
  cudaStream_t stream = nullptr;
};

// cusolverStatus_t
constexpr int kCusolverNotInitialized = 1;
constexpr int kCusolverExecutionFailed = 6;
constexpr int kCusolverInternalError = 7;
constexpr int kCusolverNotSupported = 9;

// One launch on the handle's stream, however many kernels the factorization has.
int launch(const CusolverHandle* handle);

}  // namespace virtual_gpu
