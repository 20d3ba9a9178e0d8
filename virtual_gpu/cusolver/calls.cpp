// cuSOLVER's functions, one kind after the other. Workspace sizes come from the real library. The
// factorization itself is a launch.
#include "virtual_gpu/cusolver/handle.h"
#include "virtual_gpu/real_library/asked_library.h"

namespace {

constexpr virtual_gpu::AskedLibrary kCusolver{
    .file = "libcusolver",
    .blank = virtual_gpu::blank_handle,
    .not_initialized = virtual_gpu::kCusolverNotInitialized,
    .not_supported = virtual_gpu::kCusolverNotSupported,
    .wanted_card = virtual_gpu::kCusolverInternalError};

}  // namespace

#define HEADROOM_SIZE(name) HEADROOM_ASKED(kCusolver, name)
#include "virtual_gpu/cusolver/sizes.inc"
#undef HEADROOM_SIZE

#define HEADROOM_LAUNCH(name)                                      \
  extern "C" int name(const virtual_gpu::CusolverHandle* handle) { \
    return virtual_gpu::launch(handle);                            \
  }
#include "virtual_gpu/cusolver/launches.inc"
#undef HEADROOM_LAUNCH
