// cuSPARSE: handles only, which MAGMA's queues hold (torch.cholesky_solve of a batch). Whatever
// multiplies or solves is refused: report/refusal.cpp.
#include <cuda_runtime_api.h>

#include "virtual_gpu/cudart/error.h"

using namespace virtual_gpu;

namespace {

constexpr int kNotInitialized = 1;  // cusparseStatus_t

struct CusparseHandle {
  cudaStream_t stream = nullptr;
};

}  // namespace

extern "C" {

int cusparseCreate(CusparseHandle** handle) {
  if (usable() != cudaSuccess) return kNotInitialized;
  *handle = new CusparseHandle();
  return 0;
}

int cusparseDestroy(CusparseHandle* handle) {
  delete handle;
  return 0;
}

int cusparseSetStream(CusparseHandle* handle, cudaStream_t stream) {
  if (handle == nullptr) return kNotInitialized;
  handle->stream = stream;
  return 0;
}

int cusparseSetPointerMode(const CusparseHandle* handle, int) {
  return handle == nullptr ? kNotInitialized : 0;
}

}  // extern "C"
