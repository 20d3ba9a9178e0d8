// Our cuSPARSE handle.
#pragma once

#include <cuda_runtime_api.h>

namespace virtual_gpu {

struct CusparseHandle {
  cudaStream_t stream = nullptr;
};

// cusparseStatus_t
constexpr int kCusparseNotInitialized = 1;
constexpr int kCusparseExecutionFailed = 6;
constexpr int kCusparseNotSupported = 10;

// One launch on the handle's stream, however many kernels the operation has.
int launch(const CusparseHandle* handle);

// Replaces a handle for the real library; nullptr if that is missing.
void* blank_cusparse_handle();

}  // namespace virtual_gpu
