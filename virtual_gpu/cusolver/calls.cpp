// cuSOLVER's functions of one kind each. How much workspace a factorization wants is asked of the
// real library: Note [Asked without a handle]. The factorization itself is a launch.
#include "virtual_gpu/cusolver/handle.h"
#include "virtual_gpu/real_library/real_library.h"
#include "virtual_gpu/real_library/words.h"
#include "virtual_gpu/report/refusal.h"

#define HEADROOM_SIZE(name)                                                                \
  extern "C" int name(const void* handle, HEADROOM_WORDS) {                                \
    using Real = int (*)(void*, HEADROOM_WORDS);                                           \
    static const auto real =                                                               \
        reinterpret_cast<Real>(virtual_gpu::real_function("libcusolver.so.12", #name));    \
    if (handle == nullptr) return virtual_gpu::kCusolverNotInitialized;                    \
    const int status = real == nullptr ? virtual_gpu::kCusolverInternalError               \
                                       : real(virtual_gpu::blank_handle(), HEADROOM_SAME); \
    /* It looked for the card. */                                                          \
    if (status != virtual_gpu::kCusolverInternalError) return status;                      \
    virtual_gpu::say_refused(#name);                                                       \
    return virtual_gpu::kCusolverNotSupported;                                             \
  }
#include "virtual_gpu/cusolver/sizes.inc"
#undef HEADROOM_SIZE

#define HEADROOM_LAUNCH(name)                                      \
  extern "C" int name(const virtual_gpu::CusolverHandle* handle) { \
    return virtual_gpu::launch(handle);                            \
  }
#include "virtual_gpu/cusolver/launches.inc"
#undef HEADROOM_LAUNCH
