// Functions whose arguments changed between CUDA 12 and 13, by the name with which a program asks.
//
//   program of   name                             arguments
//   CUDA 13      cudaGetDeviceProperties          CUDA 13's cudaDeviceProp
//   CUDA 12      cudaGetDeviceProperties_v2       CUDA 12's
//   CUDA 12      cudaGetDeviceProperties          CUDA 11's, the beginning of CUDA 12's
//   CUDA 13      cudaStreamGetCaptureInfo         with edges, CUDA 12's _v3
//   CUDA 12      cudaStreamGetCaptureInfo_v2      without edges
//   CUDA 12      cudaStreamGetCaptureInfo         status and id
//   CUDA 13      cudaGraphNodeGetDependencies     with edges, CUDA 12's _v2
//   CUDA 12      cudaGraphNodeGetDependencies     without edges
//
// The headers of CUDA 12 (cuda_runtime_api.h) rename the first and the fourth, so that only
// programs that open the library by hand use the third and the sixth. Note [The program's CUDA]
#include "virtual_gpu/cudart/cuda12.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/device/runtime.h"

using namespace virtual_gpu;

namespace {

bool is_of_cuda12() { return cuda_major() == 12; }

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceProperties_v2(DeviceProperties12* properties, int device) {
  return describe_device(*properties, device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!is_of_cuda12()) return describe_device(*properties, device);
  DeviceProperties12 all;
  const cudaError_t error = describe_device(all, device);
  if (error == cudaSuccess) std::memcpy(properties, &all, kDeviceProperties11Bytes);
  return error;
}

cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies,
                                        const cudaGraphEdgeData** edges, size_t* count) {
  return capture_info(stream, status, id, graph, dependencies, edges, count);
}

cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, size_t* count) {
  return capture_info(stream, status, id, graph, dependencies, nullptr, count);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  if (is_of_cuda12()) return capture_info(stream, status, id, nullptr, nullptr, nullptr, nullptr);
  return capture_info(stream, status, id, graph, dependencies, edges, count);
}

cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                            cudaGraphEdgeData*, size_t* count) {
  return dependencies_of(node, dependencies, count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edges, size_t* count) {
  return dependencies_of(node, dependencies,
                         is_of_cuda12() ? reinterpret_cast<size_t*>(edges) : count);
}

// These differ in what is ignored here, or not at all.
cudaError_t cudaMemAdvise_v2(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                             cudaMemLocation location) {
  return cudaMemAdvise(pointer, bytes, advice, location);
}

cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t bytes, cudaMemLocation location,
                                    unsigned flags, cudaStream_t stream) {
  return cudaMemPrefetchAsync(pointer, bytes, location, flags, stream);
}

cudaError_t cudaEventElapsedTime_v2(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return cudaEventElapsedTime(ms, start, end);
}

}  // extern "C"
