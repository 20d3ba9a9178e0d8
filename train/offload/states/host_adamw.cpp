#include "train/offload/states/host_adamw.h"

#include <omp.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "train/offload/states/adamw_range.h"

namespace headroom {
namespace {

// Numbers per thread and turn: 2 MiB of reads and writes, so a thread delayed by another process
// holds back little; and whole cache lines, so no two threads write one.
constexpr int64_t kChunk = 1 << 16;

template <typename Number>
double sum_of_squares(const Number* numbers, int64_t elements) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < elements; ++i) {
    const double number = widened(numbers[i]);
    sum += number * number;
  }
  return sum;
}

template <typename Number>
double sum_over_chunks(const Number* numbers, int64_t elements) {
  std::vector<double> sums(static_cast<size_t>((elements + kChunk - 1) / kChunk));
  const int threads =
      static_cast<int>(std::clamp<int64_t>(std::ssize(sums), 1, omp_get_max_threads()));
#pragma omp parallel for num_threads(threads)
  for (int64_t chunk = 0; chunk < std::ssize(sums); ++chunk) {
    const int64_t begin = chunk * kChunk;
    sums[static_cast<size_t>(chunk)] =
        sum_of_squares(numbers + begin, std::min(kChunk, elements - begin));
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

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

double sum_of_squares(const void* numbers, HostNumber type, int64_t elements) {
  return type == HostNumber::kFp32
             ? sum_over_chunks(static_cast<const float*>(numbers), elements)
             : sum_over_chunks(static_cast<const uint16_t*>(numbers), elements);
}

}  // namespace headroom
