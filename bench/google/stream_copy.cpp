#include "bench/google/stream_copy.h"

#include <emmintrin.h>

#include <algorithm>

namespace headroom {
namespace {

constexpr int64_t kPart = 1 << 18;  // numbers: 2 MiB read and written

void copy_part(const float* a, float* c, int64_t numbers) {
  for (int64_t i = 0; i < numbers; i += 4) _mm_storeu_ps(c + i, _mm_loadu_ps(a + i));
}

void copy_part_past_caches(const float* a, float* c, int64_t numbers) {
  for (int64_t i = 0; i < numbers; i += 4) _mm_stream_ps(c + i, _mm_loadu_ps(a + i));
  _mm_sfence();
}

}  // namespace

void stream_copy(const float* a, float* c, int64_t numbers, bool past_caches) {
#pragma omp parallel for schedule(dynamic)
  for (int64_t begin = 0; begin < numbers; begin += kPart) {
    const int64_t part = std::min(kPart, numbers - begin);
    (past_caches ? copy_part_past_caches : copy_part)(a + begin, c + begin, part);
  }
}

}  // namespace headroom
