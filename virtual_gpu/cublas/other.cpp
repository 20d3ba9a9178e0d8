// Vector and triangular routines of cuBLAS. Nothing is computed, and their arguments are not looked
// at: whatever was known may be what they write.
#include "virtual_gpu/device/machine.h"

#define HEADROOM_DONE(name)                            \
  extern "C" int name() {                              \
    virtual_gpu::Machine::get().contents.forget_all(); \
    return 0;                                          \
  }
#include "virtual_gpu/cublas/other.inc"
#undef HEADROOM_DONE
