// The driver API (libcuda): devices, contexts, modules, launches. Its virtual memory management is
// in driver/mapping.cpp. The stand-in libcuda.so.1 is an empty library that depends on this one.
#include "virtual_gpu/driver/driver.h"

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/cudart/launch/kernel_writes.h"
#include "virtual_gpu/device/runtime.h"

using namespace virtual_gpu;

namespace virtual_gpu {

CUresult to_driver(cudaError_t error) {
  // Both enumerations share their numbers, except a few that cannot occur here.
  return static_cast<CUresult>(error);
}

CUresult driver_result(Status status) { return to_driver(to_cuda(status)); }

}  // namespace virtual_gpu

namespace {

// A module loaded at run time (NVRTC, Triton). Its functions exist by name only.
struct Module {};

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return to_driver(usable()); }

CUresult cuDriverGetVersion(int* version) { return to_driver(cudaDriverGetVersion(version)); }

CUresult cuDeviceGetCount(int* count) { return to_driver(cudaGetDeviceCount(count)); }

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!is_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<size_t>(length), "%s",
                Machine::get().device(device).card().name.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = Machine::get().device(device).card().total_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::ranges::copy(Machine::get().uuid(device), uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  // The driver alone has these three; all others have the runtime's numbers.
  switch (static_cast<int>(attribute)) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      *value = 1;
      return CUDA_SUCCESS;
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return to_driver(
          cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device));
  }
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = cudaGetErrorString(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = cudaGetErrorName(static_cast<cudaError_t>(error));
  return CUDA_SUCCESS;
}

// The driver's log of its errors, which libtorch attaches to its own: it stays empty.
CUresult cuLogsRegisterCallback(CUlogsCallback, void*, CUlogsCallbackHandle* callback) {
  *callback = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle) { return CUDA_SUCCESS; }

CUresult cuModuleLoad(CUmodule* module, const char*) {
  *module = reinterpret_cast<CUmodule>(new Module());
  return to_driver(usable());
}

CUresult cuModuleLoadData(CUmodule* module, const void*) { return cuModuleLoad(module, ""); }

CUresult cuModuleLoadDataEx(CUmodule* module, const void*, unsigned, CUjit_option*, void**) {
  return cuModuleLoad(module, "");
}

CUresult cuModuleUnload(CUmodule module) {
  forget_description(module);
  delete reinterpret_cast<Module*>(module);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char*) {
  *function = reinterpret_cast<CUfunction>(module);
  return CUDA_SUCCESS;
}

// Attributes of a kernel that was not compiled: within every card's limits.
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  const bool threads = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
  *value = threads ? 1024 : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; }
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** arguments, void**) {
  return to_driver(cudaLaunchKernel(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                                    arguments, shared_bytes, stream));
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared_bytes, CUstream stream,
                                   void** arguments) {
  return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes,
                        stream, arguments, nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void** extra) {
  return cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                        config->blockDimX, config->blockDimY, config->blockDimZ,
                        config->sharedMemBytes, config->hStream, arguments, extra);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t shared_bytes) {
  return to_driver(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      blocks, reinterpret_cast<const void*>(function), threads, shared_bytes));
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  cudaPointerAttributes known;
  const cudaError_t error =
      cudaPointerGetAttributes(&known, reinterpret_cast<const void*>(pointer));
  if (error != cudaSuccess) return to_driver(error);
  if (known.type == cudaMemoryTypeUnregistered) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) =
          known.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = known.device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(value) = context_of(known.device);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = pointer;
      return CUDA_SUCCESS;
    default:
      *static_cast<int*>(value) = 0;
      return CUDA_SUCCESS;
  }
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t, void*,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  std::memset(map, 0, sizeof *map);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return to_driver(cudaMemGetInfo(free, total));
}

// A value of four different bytes is not recorded.
CUresult cuMemsetD32Async(CUdeviceptr pointer, unsigned value, size_t count, CUstream stream) {
  const unsigned byte = value & 0xff;
  const cudaError_t error =
      cudaMemsetAsync(reinterpret_cast<void*>(pointer), static_cast<int>(byte), count * 4, stream);
  if (value != byte * 0x01010101U) Machine::get().contents.forget(pointer, count * 4);
  return to_driver(error);
}

CUresult cuMemsetD8Async(CUdeviceptr pointer, unsigned char value, size_t count, CUstream stream) {
  return to_driver(cudaMemsetAsync(reinterpret_cast<void*>(pointer), value, count, stream));
}

CUresult cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  return to_driver(cudaMalloc(reinterpret_cast<void**>(pointer), bytes));
}

CUresult cuMemFree(CUdeviceptr pointer) {
  return to_driver(cudaFree(reinterpret_cast<void*>(pointer)));
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  *context = context_of(Machine::get().stream(stream).device);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return cuStreamGetCtx(stream, context);
}

CUresult cuStreamSynchronize(CUstream stream) { return to_driver(cudaStreamSynchronize(stream)); }

}  // extern "C"
