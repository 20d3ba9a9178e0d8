// The versions of NVIDIA's libraries: those of the libraries in the process, which know them
// without a card. A program linked to the stand-in alone gets those that it was compiled with.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>

#include <initializer_list>

namespace {

// A function of the first of these libraries that is in the process; `own` is our definition.
template <typename F>
F* loaded_function(std::initializer_list<const char*> libraries, const char* name, F* own) {
  for (const char* library : libraries) {
    void* loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    auto* found = loaded == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(loaded, name));
    if (found != nullptr && found != own) return found;
  }
  return nullptr;
}

}  // namespace

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return cudaErrorInvalidValue;
  static auto* const real =
      loaded_function({"libcudart.so.13", "libcudart.so.12"}, __func__, &cudaRuntimeGetVersion);
  *version = CUDART_VERSION;
  return real == nullptr ? cudaSuccess : real(version);
}

// The driver is as new as the runtime.
cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

size_t cublasLtGetVersion() {
  static auto* const real =
      loaded_function({"libcublasLt.so.13", "libcublasLt.so.12"}, __func__, &cublasLtGetVersion);
  return real == nullptr ? CUBLAS_VERSION : real();
}

size_t cublasLtGetCudartVersion() {
  static auto* const real = loaded_function({"libcublasLt.so.13", "libcublasLt.so.12"}, __func__,
                                            &cublasLtGetCudartVersion);
  return real == nullptr ? CUDART_VERSION : real();
}

// cuBLAS and cuBLASLt come together and have one version.
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = static_cast<int>(cublasLtGetVersion());
  return CUBLAS_STATUS_SUCCESS;
}

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  static auto* const real = loaded_function({"libnccl.so.2"}, __func__, &ncclGetVersion);
  *version = NCCL_VERSION_CODE;
  return real == nullptr ? ncclSuccess : real(version);
}

}  // extern "C"
