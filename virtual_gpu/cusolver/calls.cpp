// cuSOLVER's functions of one kind each. How much workspace a factorization wants is asked of the
// real library: Note [Asked without a handle]. The factorization itself is a launch.
#include <cstdint>

#include "virtual_gpu/cusolver/handle.h"
#include "virtual_gpu/real_library/real_library.h"
#include "virtual_gpu/report/refusal.h"

// Every argument of theirs is an integer or a pointer, and the longest list has 18 beside the
// handle (cusolverDnXgeev_bufferSize). In the C calling convention they travel as words: as many
// are passed on, and a function looks at those that are its own.
using Word = uintptr_t;
#define HEADROOM_WORDS                                                                            \
  Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l, \
      Word m, Word n, Word o, Word p, Word q, Word r
#define HEADROOM_SAME a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r

#define HEADROOM_SIZE(name)                                                             \
  extern "C" int name(const void* handle, HEADROOM_WORDS) {                             \
    using Real = int (*)(void*, HEADROOM_WORDS);                                        \
    static const auto real =                                                            \
        reinterpret_cast<Real>(virtual_gpu::real_function("libcusolver.so.12", #name)); \
    if (handle == nullptr) return virtual_gpu::kCusolverNotInitialized;                 \
    if (real != nullptr) return real(virtual_gpu::blank_handle(), HEADROOM_SAME);       \
    virtual_gpu::say_refused(#name);                                                    \
    return virtual_gpu::kCusolverNotSupported;                                          \
  }
#include "virtual_gpu/cusolver/sizes.inc"
#undef HEADROOM_SIZE

#define HEADROOM_LAUNCH(name)                                      \
  extern "C" int name(const virtual_gpu::CusolverHandle* handle) { \
    return virtual_gpu::launch(handle);                            \
  }
#include "virtual_gpu/cusolver/launches.inc"
#undef HEADROOM_LAUNCH
