// Functions whose arguments depend on the program's CUDA, before the arguments are told apart in
// cudart/cuda12.cpp.
#pragma once

#include <cuda_runtime_api.h>

#include "virtual_gpu/cudart/device/device_properties_12.h"

namespace virtual_gpu {

cudaError_t describe_device(cudaDeviceProp& properties, int device);
cudaError_t describe_device(DeviceProperties12& properties, int device);

// Null where the caller does not want an answer, except `status`.
cudaError_t capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status,
                         unsigned long long* id, cudaGraph_t* graph,
                         const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                         size_t* count);

cudaError_t dependencies_of(cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* count);

}  // namespace virtual_gpu
