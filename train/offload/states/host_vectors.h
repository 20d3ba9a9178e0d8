// The vector instructions of the processor that a program runs on. No torch here.
#pragma once

#include <cassert>

namespace headroom {

enum class HostVectors { kBaseline, kAvx2, kAvx512 };  // of 4, 8 and 16 numbers
inline constexpr HostVectors kHostVectors[] = {HostVectors::kBaseline, HostVectors::kAvx2,
                                               HostVectors::kAvx512};

bool processor_has(HostVectors vectors);
HostVectors widest_vectors();

#ifdef __x86_64__
template <typename Work>
[[gnu::target("avx2")]] void run_in_avx2(const Work& work) {
  work();
}
template <typename Work>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void run_in_avx512(const Work& work) {
  work();
}
#endif

// Calls work(), compiled for these vectors, which the processor must have. work: a lambda with the
// attribute always_inline, and all that it calls likewise (HEADROOM_INLINE); else it is compiled
// for the baseline.
template <typename Work>
void run_with(HostVectors vectors, const Work& work) {
  assert(processor_has(vectors));
#ifdef __x86_64__
  if (vectors == HostVectors::kAvx512) return run_in_avx512(work);
  if (vectors == HostVectors::kAvx2) return run_in_avx2(work);
#endif
  work();
}

}  // namespace headroom
