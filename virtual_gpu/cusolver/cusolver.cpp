// cuSOLVER (torch.linalg): handles. Without cuSOLVER's header: only a call's handle is read. Sizes
// and factorizations are in calls.cpp; functions without a handle are the real library's.
#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/cudart/launch/launch_once.h"
#include "virtual_gpu/cusolver/handle.h"

using namespace virtual_gpu;

namespace virtual_gpu {

int launch(const CusolverHandle* handle) {
  if (handle == nullptr) return kCusolverNotInitialized;
  return launch_once(handle->stream) == cudaSuccess ? 0 : kCusolverExecutionFailed;
}

}  // namespace virtual_gpu

extern "C" {

int cusolverDnCreate(CusolverHandle** handle) {
  if (usable() != cudaSuccess) return kCusolverNotInitialized;
  Machine::get().here().make_context();
  *handle = new CusolverHandle();
  return 0;
}

int cusolverDnDestroy(CusolverHandle* handle) {
  delete handle;
  return 0;
}

int cusolverDnSetStream(CusolverHandle* handle, cudaStream_t stream) {
  if (handle == nullptr) return kCusolverNotInitialized;
  handle->stream = stream;
  return 0;
}

}  // extern "C"
