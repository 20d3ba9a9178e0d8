// What the memory can do: c[i] = a[i], as STREAM has it. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

// In libtorch's threads, in parts that a thread takes when it is free, as host_adamw's are.
// past_caches: c's lines are not read before they are written. numbers: a multiple of 16; both
// arrays begin at one of 16 bytes.
void stream_copy(const float* a, float* c, int64_t numbers, bool past_caches);

}  // namespace headroom
