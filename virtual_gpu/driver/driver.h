// Shared by the files of the driver API.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "virtual_gpu/device/status.h"

namespace virtual_gpu {

CUresult to_driver(cudaError_t error);
CUresult driver_result(Status status);

bool is_device(CUdevice device);

// The context of an existing device.
CUcontext context_of(int device);

}  // namespace virtual_gpu
