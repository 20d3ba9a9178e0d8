#include "cards/cublas_workspace.h"

namespace headroom {

int64_t cublas_workspace_bytes(std::string_view compute_capability) {
  constexpr int64_t kKiB = 1024;
  constexpr int64_t kHopper = 32 * kKiB * kKiB;
  constexpr int64_t kOthers = (2 * 4096 + 8 * 16) * kKiB;
  return compute_capability == "9.0" ? kHopper : kOthers;
}

}  // namespace headroom
