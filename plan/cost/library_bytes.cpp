#include "plan/cost/library_bytes.h"

namespace headroom {

int64_t nccl_bytes(int64_t gpus) {
  constexpr int64_t kHundredthOfGiB = (int64_t{1} << 30) / 100;
  return gpus > 1 ? 102 * kHundredthOfGiB : 0;
}

}  // namespace headroom
