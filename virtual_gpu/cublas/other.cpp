// Vector and triangular routines of cuBLAS. Their operands and results lie in device memory, which
// holds no values: nothing is to be done.
#define HEADROOM_DONE(name) \
  extern "C" int name() { return 0; }
#include "virtual_gpu/cublas/other.inc"
#undef HEADROOM_DONE
