// The memory's limit: STREAM's c[i] = a[i]. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

// Runs in libtorch's threads, in dynamically scheduled parts, like host_adamw. past_caches: c's
// lines are not read before they are written. numbers: a multiple of 16; both arrays are aligned
// to 16 bytes.
void stream_copy(const float* a, float* c, int64_t numbers, bool past_caches);

}  // namespace headroom
