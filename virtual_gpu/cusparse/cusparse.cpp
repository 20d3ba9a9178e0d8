// cuSPARSE: handles, and the few functions that report to the host. Sizes and products are in
// calls.cpp; functions without a handle (descriptors of matrices) are the real library's. The sum
// and the product of two sparse matrices are refused (report/refusal.cpp): their results' sizes
// depend on the matrices' contents.
#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/cudart/launch/launch_once.h"
#include "virtual_gpu/cusparse/handle.h"
#include "virtual_gpu/real_library/real_library.h"

using namespace virtual_gpu;

namespace {

// The first word of cuSPARSE's own objects, read from one that needs no card: an empty matrix. 0 if
// the real library is missing.
uintptr_t mark_of_objects() {
  using Create =
      int (*)(void**, int64_t, int64_t, int64_t, void*, void*, void*, int, int, int, int);
  using Destroy = int (*)(void*);
  constexpr int k32BitIndices = 2;
  const auto create = reinterpret_cast<Create>(real_function("libcusparse", "cusparseCreateCsr"));
  const auto destroy =
      reinterpret_cast<Destroy>(real_function("libcusparse", "cusparseDestroySpMat"));
  if (create == nullptr || destroy == nullptr) return 0;
  void* matrix = nullptr;
  uintptr_t nothing = 0;
  if (create(&matrix, 1, 1, 0, &nothing, nullptr, nullptr, k32BitIndices, k32BitIndices, 0, 0) !=
      0) {
    return 0;
  }
  const uintptr_t mark = *static_cast<const uintptr_t*>(matrix);
  destroy(matrix);
  return mark;
}

}  // namespace

namespace virtual_gpu {

int launch(const CusparseHandle* handle) {
  if (handle == nullptr) return kCusparseNotInitialized;
  return launch_once(handle->stream) == cudaSuccess ? 0 : kCusparseExecutionFailed;
}

void* blank_cusparse_handle() {
  static void* const handle = [] {
    const uintptr_t mark = mark_of_objects();
    return mark == 0 ? nullptr : blank_handle_that_begins(mark);
  }();
  return handle;
}

}  // namespace virtual_gpu

extern "C" {

int cusparseCreate(CusparseHandle** handle) {
  if (usable() != cudaSuccess) return kCusparseNotInitialized;
  *handle = new CusparseHandle();
  return 0;
}

int cusparseDestroy(CusparseHandle* handle) {
  delete handle;
  return 0;
}

int cusparseSetStream(CusparseHandle* handle, cudaStream_t stream) {
  if (handle == nullptr) return kCusparseNotInitialized;
  handle->stream = stream;
  return 0;
}

int cusparseSetPointerMode(const CusparseHandle* handle, int) {
  return handle == nullptr ? kCusparseNotInitialized : 0;
}

// A block solve's matrix data. The real functions need a card; size queries accept any pointer.
int cusparseCreateBsrsm2Info(void** info) {
  *info = blank_handle();
  return 0;
}

int cusparseCreateBsrsv2Info(void** info) { return cusparseCreateBsrsm2Info(info); }

int cusparseDestroyBsrsm2Info(void*) { return 0; }

int cusparseDestroyBsrsv2Info(void*) { return 0; }

// PyTorch's error message contains this text.
const char* cusparseGetErrorString(int status) {
  if (status == kCusparseNotSupported) return "not supported on a virtual GPU";
  using Text = const char* (*)(int);
  static const auto real =
      reinterpret_cast<Text>(real_function("libcusparse", "cusparseGetErrorString"));
  return real == nullptr ? "an error of cuSPARSE" : real(status);
}

// Reports no zero on the diagonal: the values are unknown and taken as nonzero.
int cusparseXbsrsm2_zeroPivot(const CusparseHandle* handle, const void*, int* position) {
  *position = -1;
  return launch(handle);
}

int cusparseXbsrsv2_zeroPivot(const CusparseHandle* handle, const void* info, int* position) {
  return cusparseXbsrsm2_zeroPivot(handle, info, position);
}

}  // extern "C"
