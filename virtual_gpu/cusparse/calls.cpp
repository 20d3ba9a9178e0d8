// cuSPARSE's functions, one kind after the other. Workspace sizes of products and solves come from
// the real library. The product itself is a launch.
#include "virtual_gpu/cusparse/handle.h"
#include "virtual_gpu/real_library/asked_library.h"

namespace {

constexpr virtual_gpu::AskedLibrary kCusparse{
    .file = "libcusparse",
    .blank = virtual_gpu::blank_cusparse_handle,
    .not_initialized = virtual_gpu::kCusparseNotInitialized,
    .not_supported = virtual_gpu::kCusparseNotSupported,
    .wanted_card = -1};

}  // namespace

#define HEADROOM_SIZE(name) HEADROOM_ASKED(kCusparse, name)
#include "virtual_gpu/cusparse/sizes.inc"
#undef HEADROOM_SIZE

#define HEADROOM_LAUNCH(name)                                      \
  extern "C" int name(const virtual_gpu::CusparseHandle* handle) { \
    return virtual_gpu::launch(handle);                            \
  }
#include "virtual_gpu/cusparse/launches.inc"
#undef HEADROOM_LAUNCH
