// cuBLASLt: descriptors that store sizes, one heuristic result, matrix products that are counted.
#include <cublasLt.h>

#include <cstring>

#include "virtual_gpu/cublas/matrix_product.h"
#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/device/runtime.h"
#include "virtual_gpu/real_library/real_library.h"

using namespace virtual_gpu;

namespace {

struct Description {
  cublasOperation_t transpose_a = CUBLAS_OP_N;
};

struct Layout {
  uint64_t rows = 0;
  uint64_t columns = 0;
  int32_t batch = 1;
};

template <typename Object, typename Handle>
Object& as(Handle handle) {
  return *reinterpret_cast<Object*>(const_cast<void*>(static_cast<const void*>(handle)));
}

// A small object without a destructor of its own.
struct Preference {
  uint64_t workspace_bytes = 0;
};

// From the program's own library. Ours has not loaded it until now: virtual_gpu/CMakeLists.txt.
size_t real_version() {
  constexpr const char* kName = "cublasLtGetVersion";
  void* function = real_function("libcublasLt", kName);
  if (function == nullptr) function = real_function_beside("libcublas", "libcublasLt", kName);
  return function == nullptr ? CUBLAS_VERSION : reinterpret_cast<size_t (*)()>(function)();
}

}  // namespace

extern "C" {

size_t cublasLtGetVersion() {
  static const size_t version = real_version();
  return version;
}

size_t cublasLtGetCudartVersion() { return static_cast<size_t>(cuda_version()); }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (usable() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = reinterpret_cast<cublasLtHandle_t>(new Preference());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete &as<Preference>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t,
                                        cudaDataType_t) {
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(new Description());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete &as<Description>(description);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA && bytes == sizeof(cublasOperation_t)) {
    std::memcpy(&as<Description>(description).transpose_a, value, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType,
                                          uint64_t rows, uint64_t columns, int64_t) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{.rows = rows, .columns = columns, .batch = 1});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &as<Layout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof(int32_t)) {
    std::memcpy(&as<Layout>(layout).batch, value, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference());
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &as<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

// One algorithm without workspace: the caller has allocated its workspace in any case.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  if (wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1.0F;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

// The same algorithm, however it was configured.
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*,
                                       cublasLtMatmulHeuristicResult_t* result) {
  int found = 0;
  return cublasLtMatmulAlgoGetHeuristic(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                        nullptr, 1, result, &found);
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*,
                                                    cublasLtMatmulAlgoConfigAttributes_t,
                                                    void* value, size_t bytes, size_t* written) {
  if (value != nullptr) std::memset(value, 0, bytes);
  if (written != nullptr) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void*,
                              const void*, cublasLtMatrixLayout_t a, const void*,
                              cublasLtMatrixLayout_t, const void*, const void*,
                              cublasLtMatrixLayout_t, void* written, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  const Layout& left = as<Layout>(a);
  const Layout& out = as<Layout>(d);
  const bool plain = as<Description>(description).transpose_a == CUBLAS_OP_N;
  count_matrix_product(stream, out.rows, out.columns, plain ? left.columns : left.rows,
                       static_cast<uint64_t>(out.batch), written);
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
