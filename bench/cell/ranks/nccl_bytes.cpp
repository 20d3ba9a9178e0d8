#include "bench/cell/ranks/nccl_bytes.h"

#include <dlfcn.h>

namespace headroom {

int64_t nccl_bytes_of(int card) {
  using Function = uint64_t (*)(int);
  void* const found = dlsym(RTLD_DEFAULT, "headroom_virtual_nccl_bytes");
  if (found == nullptr || card < 0) return 0;
  return static_cast<int64_t>(reinterpret_cast<Function>(found)(card));
}

}  // namespace headroom
