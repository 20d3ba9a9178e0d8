// The runtime's errors: every entry point returns through here and sets cudaGetLastError().
#pragma once

#include <cuda_runtime_api.h>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/device/status.h"

namespace virtual_gpu {

cudaError_t to_cuda(Status status);

// Remembers an error as the calling thread's last one, and returns it.
cudaError_t result(cudaError_t error);
inline cudaError_t result(Status status) {
  return status == Status::kOk ? cudaSuccess : result(to_cuda(status));
}

// The check before every call: cudaErrorInitializationError in a forked child, cudaErrorNoDevice
// without a card, cudaSuccess otherwise.
cudaError_t usable();

}  // namespace virtual_gpu
