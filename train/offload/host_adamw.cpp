#include "train/offload/host_adamw.h"

#include <omp.h>

#include <algorithm>

#include "train/offload/adamw_range.h"

namespace headroom {
namespace {

// Numbers that a thread takes at once: 2 MiB of what is read and written, so that one that was
// kept waiting by another process holds back no more; and whole lines of the cache, so that no two
// threads write one.
constexpr int64_t kChunk = 1 << 16;

}  // namespace

void host_adamw(const HostAdamwPart& part, const HostAdamwOptions& options, int64_t step) {
  const AdamwFactors factors = adamw_factors(options, step);
  const HostVectors vectors = widest_vectors();
  const bool first = step == 1;
  const int64_t chunks = (part.elements + kChunk - 1) / kChunk;
  const int threads = static_cast<int>(std::clamp<int64_t>(chunks, 1, omp_get_max_threads()));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t begin = chunk * kChunk;
    update_range(vectors, part, factors, first, begin, std::min(begin + kChunk, part.elements));
  }
}

}  // namespace headroom
