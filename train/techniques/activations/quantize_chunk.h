// Number of elements that are encoded or decoded at once. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

inline constexpr int64_t kQuantizeChunk = int64_t{1} << 22;  // numbers: 16 MiB in FP32

}  // namespace headroom
