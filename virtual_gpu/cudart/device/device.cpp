// The CUDA runtime's calls about devices.
#include <cstdio>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/device/runtime.h"
#include "virtual_gpu/device/visible.h"

using namespace virtual_gpu;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return result(cudaErrorInvalidValue);
  *count = 0;
  if (const cudaError_t error = usable()) return error;
  *count = Machine::get().count();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return result(cudaErrorInvalidValue);
  if (const cudaError_t error = usable()) return error;
  *device = Machine::current();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t error = usable()) return error;
  if (device < 0 || device >= Machine::get().count()) return result(cudaErrorInvalidDevice);
  Machine::set_current(device);
  Machine::get().device(device).make_context();
  return cudaSuccess;
}

// A driver as new as the program's CUDA.
cudaError_t cudaDriverGetVersion(int* version) {
  *version = cuda_version();
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = cuda_version();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (const cudaError_t error = usable()) return error;
  if (device < 0 || device >= Machine::get().count()) return result(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0",
                pci_bus_of(Machine::get().card_of_host(device)));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  if (const cudaError_t error = usable()) return error;
  unsigned domain = 0;
  unsigned bus = 0;
  if (std::sscanf(text, "%x:%x", &domain, &bus) != 2) return result(cudaErrorInvalidValue);
  for (int i = 0; i < Machine::get().count(); ++i) {
    if (pci_bus_of(Machine::get().card_of_host(i)) != static_cast<int>(bus)) continue;
    *device = i;
    return cudaSuccess;
  }
  return result(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const cudaError_t error = usable()) return error;
  const int count = Machine::get().count();
  if (device < 0 || device >= count || peer < 0 || peer >= count) {
    return result(cudaErrorInvalidDevice);
  }
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  machine.here().counters.synchronizations.fetch_add(1, std::memory_order_relaxed);
  const Status status = machine.streams.unsafe_call();
  if (status == Status::kOk) machine.streams.synchronize_device(Machine::current());
  return result(status);
}

cudaError_t cudaDeviceReset() {
  if (const cudaError_t error = usable()) return error;
  Machine::get().streams.synchronize_device(Machine::current());
  return cudaSuccess;
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  *flags = 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return usable(); }

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  // The runtime's defaults.
  *value = limit == cudaLimitStackSize ? 1024 : limit == cudaLimitMallocHeapSize ? 8388608 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
