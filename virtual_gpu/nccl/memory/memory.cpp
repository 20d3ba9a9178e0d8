// NCCL's allocations, and registered buffers. Nothing is mapped for peers: they have their own
// cards.
#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/nccl/communicator.h"

using namespace virtual_gpu;

namespace {

constexpr uint64_t kPage = 2 << 20;  // the driver's granularity: ncclMemAlloc goes through cuMem*

// A handle is identified only by its address.
struct Registration {
  const ncclComm* comm;
};

ncclResult_t add(ncclComm_t comm, const void* buffer, size_t bytes, void** handle) {
  if (const ncclResult_t error = check_communicator(comm)) return error;
  if (handle == nullptr || buffer == nullptr || bytes == 0) {
    return nccl_failure(ncclInvalidArgument, "no buffer, or no place for its handle");
  }
  *handle = new Registration{comm};
  return ncclSuccess;
}

ncclResult_t drop(ncclComm_t comm, void* handle) {
  if (const ncclResult_t error = check_communicator(comm)) return error;
  delete static_cast<Registration*>(handle);
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  if (pointer == nullptr || bytes == 0) {
    return nccl_failure(ncclInvalidArgument, "no bytes, or no place for their address");
  }
  const uint64_t whole = (bytes + kPage - 1) / kPage * kPage;
  if (cudaMalloc(pointer, whole) == cudaSuccess) return ncclSuccess;
  return nccl_failure(ncclUnhandledCudaError, cudaGetErrorString(cudaGetLastError()));
}

ncclResult_t ncclMemFree(void* pointer) {
  if (cudaFree(pointer) == cudaSuccess) return ncclSuccess;
  return nccl_failure(ncclUnhandledCudaError, cudaGetErrorString(cudaGetLastError()));
}

ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t bytes, void** handle) {
  return add(comm, buffer, bytes, handle);
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle) { return drop(comm, handle); }

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t bytes,
                                    ncclWindow_t* window, int) {
  return add(comm, buffer, bytes, reinterpret_cast<void**>(window));
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  return drop(comm, window);
}

}  // extern "C"
