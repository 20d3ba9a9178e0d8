#include "plan/cost/library_bytes.h"

namespace headroom {

int64_t cublas_workspace_bytes(const Card& card) {
  constexpr int64_t kKiB = 1024;
  constexpr int64_t kLarge = 2 * kKiB;  // 4096 of these and 16 of the small ones
  constexpr int64_t kSmall = 8 * kKiB;
  return card.compute_capability == "9.0" ? 32 * kKiB * kKiB : 4096 * kLarge + 16 * kSmall;
}

int64_t nccl_bytes(int64_t gpus) {
  constexpr int64_t kHundredthOfGiB = (int64_t{1} << 30) / 100;
  return gpus > 1 ? 102 * kHundredthOfGiB : 0;
}

}  // namespace headroom
