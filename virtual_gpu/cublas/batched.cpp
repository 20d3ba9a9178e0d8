// cuBLAS's batched factorizations that report to the host: no argument is ever wrong. Declared
// without cuBLAS's header: in the C calling convention every array is a pointer.
#include "virtual_gpu/device/machine.h"

namespace {

int done(int* first_wrong_argument) {
  virtual_gpu::Machine::get().contents.forget_all();
  if (first_wrong_argument != nullptr) *first_wrong_argument = 0;
  return 0;
}

}  // namespace

#define HEADROOM_BATCHED(letter)                                                                   \
  extern "C" int cublas##letter##geqrfBatched(void*, int, int, void*, int, void*, int* info,       \
                                              int) {                                               \
    return done(info);                                                                             \
  }                                                                                                \
  extern "C" int cublas##letter##gelsBatched(void*, int, int, int, int, void*, int, void*, int,    \
                                             int* info, int*, int) {                               \
    return done(info);                                                                             \
  }                                                                                                \
  extern "C" int cublas##letter##getrsBatched(void*, int, int, int, void*, int, void*, void*, int, \
                                              int* info, int) {                                    \
    return done(info);                                                                             \
  }
HEADROOM_BATCHED(S)
HEADROOM_BATCHED(D)
HEADROOM_BATCHED(C)
HEADROOM_BATCHED(Z)
#undef HEADROOM_BATCHED
