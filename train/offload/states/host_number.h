// Numbers that the host's vector loops read and write. No torch here.
#pragma once

#include <bit>
#include <cstdint>

namespace headroom {

// Inlined into each function that is compiled for a kind of processor.
#define HEADROOM_INLINE [[gnu::always_inline]] inline

// Type of the numbers of a tensor: float, or uint16_t with the bits of BF16.
enum class HostNumber { kFp32, kBf16 };

HEADROOM_INLINE float widened(float value) { return value; }
HEADROOM_INLINE float widened(uint16_t bf16) {
  return std::bit_cast<float>(static_cast<uint32_t>(bf16) << 16);
}

// To the nearest, ties to even; a NaN is 7fc0 in BF16.
HEADROOM_INLINE void round_to(float value, float& out) { out = value; }
HEADROOM_INLINE void round_to(float value, uint16_t& out) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  out = static_cast<uint16_t>(nan ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace headroom
