// cuBLAS: handles, and matrix products, which are counted. ATen's other calls succeed and do
// nothing (other.inc): they work on device memory, which holds no values.
#include <cublasLt.h>
#include <cublas_v2.h>

#include "virtual_gpu/cublas/matrix_product.h"
#include "virtual_gpu/cudart/error.h"

using namespace virtual_gpu;

namespace {

struct Handle {
  cudaStream_t stream = nullptr;
  cublasMath_t math_mode = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics_mode = CUBLAS_ATOMICS_NOT_ALLOWED;
};

Handle& as_handle(cublasHandle_t handle) { return *reinterpret_cast<Handle*>(handle); }

constexpr uint64_t kReal = 2;
constexpr uint64_t kComplex = 8;

cublasStatus_t product(cublasHandle_t handle, int64_t m, int64_t n, int64_t k, int64_t batch,
                       uint64_t per_multiply_add, const void* written) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || k < 0 || batch < 0) return CUBLAS_STATUS_INVALID_VALUE;
  count_matrix_product(as_handle(handle).stream, static_cast<uint64_t>(m), static_cast<uint64_t>(n),
                       static_cast<uint64_t>(k), static_cast<uint64_t>(batch), written,
                       per_multiply_add);
  return CUBLAS_STATUS_SUCCESS;
}

bool is_complex(cudaDataType type) {
  return type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_16F || type == CUDA_C_16BF;
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (usable() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  Machine::get().here().make_context();
  *handle = reinterpret_cast<cublasHandle_t>(new Handle());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete &as_handle(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = static_cast<int>(cublasLtGetVersion());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  as_handle(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = as_handle(handle).stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  as_handle(handle).math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = as_handle(handle).math_mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  as_handle(handle).pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = as_handle(handle).pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  as_handle(handle).atomics_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  *mode = as_handle(handle).atomics_mode;
  return CUBLAS_STATUS_SUCCESS;
}

// The four element types of each routine differ only in the type.
#define HEADROOM_GEMM(letter, type, cost)                                                          \
  cublasStatus_t cublas##letter##gemm_v2(                                                          \
      cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int k,            \
      const type*, const type*, int, const type*, int, const type*, type* c, int) {                \
    return product(handle, m, n, k, 1, cost, c);                                                   \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemmStridedBatched(                                               \
      cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m, int n, int k,            \
      const type*, const type*, int, long long, const type*, int, long long, const type*, type* c, \
      int, long long, int batch) {                                                                 \
    return product(handle, m, n, k, batch, cost, c);                                               \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemmBatched(cublasHandle_t handle, cublasOperation_t,             \
                                             cublasOperation_t, int m, int n, int k, const type*,  \
                                             const type* const[], int, const type* const[], int,   \
                                             const type*, type* const[], int, int batch) {         \
    return product(handle, m, n, k, batch, cost, nullptr);                                         \
  }                                                                                                \
  cublasStatus_t cublas##letter##gemv_v2(cublasHandle_t handle, cublasOperation_t, int m, int n,   \
                                         const type*, const type*, int, const type*, int,          \
                                         const type*, type* y, int) {                              \
    return product(handle, m, 1, n, 1, cost, y);                                                   \
  }
HEADROOM_GEMM(S, float, kReal)
HEADROOM_GEMM(D, double, kReal)
HEADROOM_GEMM(C, cuComplex, kComplex)
HEADROOM_GEMM(Z, cuDoubleComplex, kComplex)
#undef HEADROOM_GEMM

cublasStatus_t cublasSgemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m,
                             int n, int k, const float*, const void*, cudaDataType, int,
                             const void*, cudaDataType, int, const float*, void* c, cudaDataType,
                             int) {
  return product(handle, m, n, k, 1, kReal, c);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int m,
                            int n, int k, const void*, const void*, cudaDataType type, int,
                            const void*, cudaDataType, int, const void*, void* c, cudaDataType, int,
                            cublasComputeType_t, cublasGemmAlgo_t) {
  return product(handle, m, n, k, 1, is_complex(type) ? kComplex : kReal, c);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t,
                                          cublasOperation_t, int m, int n, int k, const void*,
                                          const void*, cudaDataType type, int, long long,
                                          const void*, cudaDataType, int, long long, const void*,
                                          void* c, cudaDataType, int, long long, int batch,
                                          cublasComputeType_t, cublasGemmAlgo_t) {
  return product(handle, m, n, k, batch, is_complex(type) ? kComplex : kReal, c);
}

cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                                   int m, int n, int k, const void*, const void* const[],
                                   cudaDataType type, int, const void* const[], cudaDataType, int,
                                   const void*, void* const[], cudaDataType, int, int batch,
                                   cublasComputeType_t, cublasGemmAlgo_t) {
  return product(handle, m, n, k, batch, is_complex(type) ? kComplex : kReal, nullptr);
}

const char* cublasGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "the functionality is not supported"
                                               : "cuBLAS error on a virtual GPU";
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS";
}

}  // extern "C"
