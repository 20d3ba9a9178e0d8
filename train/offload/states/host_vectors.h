// The vector instructions of the processor that a program runs on. No torch here.
#pragma once

namespace headroom {

enum class HostVectors { kBaseline, kAvx2, kAvx512 };  // of 4, 8 and 16 numbers
inline constexpr HostVectors kHostVectors[] = {HostVectors::kBaseline, HostVectors::kAvx2,
                                               HostVectors::kAvx512};

bool processor_has(HostVectors vectors);
HostVectors widest_vectors();

}  // namespace headroom
