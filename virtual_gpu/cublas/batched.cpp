// cuBLAS's factorizations of batches that report to the host: nothing is wrong with any matrix.
#include <cublas_v2.h>

namespace {

cublasStatus_t done(int* first_wrong_argument) {
  if (first_wrong_argument != nullptr) *first_wrong_argument = 0;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

#define HEADROOM_BATCHED(letter, type)                                                             \
  cublasStatus_t cublas##letter##geqrfBatched(cublasHandle_t, int, int, type* const[], int,        \
                                              type* const[], int* info, int) {                     \
    return done(info);                                                                             \
  }                                                                                                \
  cublasStatus_t cublas##letter##gelsBatched(cublasHandle_t, cublasOperation_t, int, int, int,     \
                                             type* const[], int, type* const[], int, int* info,    \
                                             int*, int) {                                          \
    return done(info);                                                                             \
  }                                                                                                \
  cublasStatus_t cublas##letter##getrsBatched(cublasHandle_t, cublasOperation_t, int, int,         \
                                              const type* const[], int, const int*, type* const[], \
                                              int, int* info, int) {                               \
    return done(info);                                                                             \
  }
HEADROOM_BATCHED(S, float)
HEADROOM_BATCHED(D, double)
HEADROOM_BATCHED(C, cuComplex)
HEADROOM_BATCHED(Z, cuDoubleComplex)
#undef HEADROOM_BATCHED

}  // extern "C"
