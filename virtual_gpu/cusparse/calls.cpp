// cuSPARSE's functions of one kind each. How much workspace a product or a solve wants is asked of
// the real library: Note [Asked without a handle]. The product itself is a launch.
#include "virtual_gpu/cusparse/handle.h"
#include "virtual_gpu/real_library/real_library.h"
#include "virtual_gpu/real_library/words.h"
#include "virtual_gpu/report/refusal.h"

#define HEADROOM_SIZE(name)                                                             \
  extern "C" int name(const void* handle, HEADROOM_WORDS) {                             \
    using Real = int (*)(void*, HEADROOM_WORDS);                                        \
    static const auto real =                                                            \
        reinterpret_cast<Real>(virtual_gpu::real_function("libcusparse.so.12", #name)); \
    if (handle == nullptr) return virtual_gpu::kCusparseNotInitialized;                 \
    void* blank = virtual_gpu::blank_cusparse_handle();                                 \
    if (real != nullptr && blank != nullptr) return real(blank, HEADROOM_SAME);         \
    virtual_gpu::say_refused(#name);                                                    \
    return virtual_gpu::kCusparseNotSupported;                                          \
  }
#include "virtual_gpu/cusparse/sizes.inc"
#undef HEADROOM_SIZE

#define HEADROOM_LAUNCH(name)                                      \
  extern "C" int name(const virtual_gpu::CusparseHandle* handle) { \
    return virtual_gpu::launch(handle);                            \
  }
#include "virtual_gpu/cusparse/launches.inc"
#undef HEADROOM_LAUNCH
