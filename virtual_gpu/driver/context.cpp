// The driver API's contexts: one per device, identical with it.
#include <cuda.h>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/driver/driver.h"

using namespace virtual_gpu;

namespace {

// The address of one byte per device.
char contexts[Machine::kMostDevices];

int device_of(CUcontext context) {
  const auto index = reinterpret_cast<char*>(context) - contexts;
  return index >= 0 && index < Machine::get().count() ? static_cast<int>(index) : -1;
}

}  // namespace

namespace virtual_gpu {

CUcontext context_of(int device) { return reinterpret_cast<CUcontext>(&contexts[device]); }

bool is_device(CUdevice device) { return device >= 0 && device < Machine::get().count(); }

}  // namespace virtual_gpu

extern "C" {

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (flags != nullptr) *flags = 0;
  *active = Machine::get().device(device).has_context() ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  Machine::get().device(device).make_context();
  *context = context_of(device);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice, unsigned) { return CUDA_SUCCESS; }

CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = usable() == cudaSuccess ? context_of(Machine::current()) : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (context == nullptr) return CUDA_SUCCESS;
  const int device = device_of(context);
  return device < 0 ? CUDA_ERROR_INVALID_CONTEXT : to_driver(cudaSetDevice(device));
}

CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxSetCurrent(context); }
CUresult cuCtxPopCurrent(CUcontext* context) { return cuCtxGetCurrent(context); }

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = Machine::current();
  return CUDA_SUCCESS;
}

// No context stands for the current one.
CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context) {
  *device = context == nullptr ? Machine::current() : device_of(context);
  return *device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() { return to_driver(cudaDeviceSynchronize()); }

CUresult cuCtxSynchronize_v2(CUcontext context) {
  const int before = Machine::current();
  const CUresult set = cuCtxSetCurrent(context);
  if (set != CUDA_SUCCESS) return set;
  const CUresult result = cuCtxSynchronize();
  cuCtxSetCurrent(context_of(before));
  return result;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return to_driver(cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value));
}

}  // extern "C"
