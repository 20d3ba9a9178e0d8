// Vector and triangular routines of cuBLAS. Nothing is computed, and arguments are ignored: they
// may write to any known memory.
#include "virtual_gpu/device/machine.h"

#define HEADROOM_DONE(name)                            \
  extern "C" int name() {                              \
    virtual_gpu::Machine::get().contents.forget_all(); \
    return 0;                                          \
  }
#include "virtual_gpu/cublas/other.inc"
#undef HEADROOM_DONE
