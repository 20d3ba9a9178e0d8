#include "train/offload/states/host_vectors.h"

namespace headroom {

bool processor_has(HostVectors vectors) {
#ifdef __x86_64__
  switch (vectors) {
    case HostVectors::kBaseline:
      return true;
    case HostVectors::kAvx2:
      return __builtin_cpu_supports("avx2");
    case HostVectors::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
#endif
  return vectors == HostVectors::kBaseline;
}

HostVectors widest_vectors() {
  static const HostVectors widest = [] {
    HostVectors found = HostVectors::kBaseline;
    for (const HostVectors vectors : kHostVectors) {
      if (processor_has(vectors)) found = vectors;
    }
    return found;
  }();
  return widest;
}

}  // namespace headroom
