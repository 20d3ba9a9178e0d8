#include "train/techniques/activations/host_codes.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace headroom {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr uint32_t kSign = 0x80000000;

HEADROOM_INLINE uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
HEADROOM_INLINE float number_of(uint32_t bits) { return std::bit_cast<float>(bits); }

// Bits of a magnitude, which are in the order of magnitudes: a NaN is the largest.
HEADROOM_INLINE uint32_t magnitude_of(float value) { return bits_of(value) & ~kSign; }
HEADROOM_INLINE uint16_t magnitude_of(uint16_t bf16) { return bf16 & 0x7fff; }

HEADROOM_INLINE float widened_magnitude(uint32_t bits) { return number_of(bits); }
HEADROOM_INLINE float widened_magnitude(uint16_t bits) { return widened(bits); }

// Both codes round by an addition. The added number has the smallest step as its last bit, so the
// sum is a multiple of that step, with ties to even.
struct Int8 {
  static constexpr float kLargest = 127;
  HEADROOM_INLINE static uint8_t code(float scaled) {
    return static_cast<uint8_t>(bits_of(scaled + 0x1.8p23F));
  }
  HEADROOM_INLINE static float value(uint8_t code) {
    return static_cast<float>(static_cast<int8_t>(code));
  }
};

struct E4m3 {
  static constexpr float kLargest = 448;
  HEADROOM_INLINE static uint8_t code(float scaled) {
    const uint32_t magnitude = magnitude_of(scaled);
    // Below 2^-6 the step is 2^-9. Above, three bits of mantissa stay, and the bias of the exponent
    // is 7 and not 127.
    const uint32_t small = bits_of(number_of(magnitude) + 0x1p14F) - bits_of(0x1p14F);
    const uint32_t usual = (magnitude + 0x7ffff + ((magnitude >> 20) & 1) - (120U << 23)) >> 20;
    const uint32_t code = magnitude < bits_of(0x1p-6F) ? small : usual;
    return static_cast<uint8_t>(code | (bits_of(scaled) >> 24 & 0x80));
  }
  HEADROOM_INLINE static float value(uint8_t code) {
    const uint32_t magnitude = code & 0x7fU;
    const float small = static_cast<float>(magnitude) * 0x1p-9F;
    const float usual = number_of((magnitude << 20) + (120U << 23));
    const float value = magnitude < 8 ? small : usual;
    return number_of(bits_of(value) | (code & 0x80U) << 24);
  }
};

template <typename Number, typename Code>
HEADROOM_INLINE void encode(const HostBlocks& blocks, int64_t begin, int64_t end) {
  for (int64_t block = begin; block < end; ++block) {
    const auto* const numbers = static_cast<const Number*>(blocks.numbers) + block * blocks.width;
    uint8_t* const codes = blocks.codes + block * blocks.width;
    decltype(magnitude_of(Number{})) bits = 0;
#pragma omp simd reduction(max : bits)
    for (int64_t i = 0; i < blocks.width; ++i) bits = std::max(bits, magnitude_of(numbers[i]));
    const float largest = widened_magnitude(bits);
    const bool is_finite = bits_of(largest) < 0x7f800000;
    const float scale =
        is_finite ? std::max(largest / Code::kLargest, std::numeric_limits<float>::min()) : kNan;
    blocks.scales[block] = scale;  // with a NaN here the codes have no meaning
#pragma omp simd
    for (int64_t i = 0; i < blocks.width; ++i) codes[i] = Code::code(widened(numbers[i]) / scale);
  }
}

template <typename Number, typename Code>
HEADROOM_INLINE void decode(const HostBlocks& blocks, int64_t begin, int64_t end) {
  for (int64_t block = begin; block < end; ++block) {
    auto* const numbers = static_cast<Number*>(blocks.numbers) + block * blocks.width;
    const uint8_t* const codes = blocks.codes + block * blocks.width;
    const float scale = blocks.scales[block];
#pragma omp simd
    for (int64_t i = 0; i < blocks.width; ++i) round_to(Code::value(codes[i]) * scale, numbers[i]);
  }
}

template <typename Number>
HEADROOM_INLINE void run(const HostBlocks& blocks, bool encodes, int64_t begin, int64_t end) {
  if (encodes) {
    blocks.is_e4m3 ? encode<Number, E4m3>(blocks, begin, end)
                   : encode<Number, Int8>(blocks, begin, end);
  } else {
    blocks.is_e4m3 ? decode<Number, E4m3>(blocks, begin, end)
                   : decode<Number, Int8>(blocks, begin, end);
  }
}

HEADROOM_INLINE void run_any(const HostBlocks& blocks, bool encodes, int64_t begin, int64_t end) {
  blocks.type == HostNumber::kFp32 ? run<float>(blocks, encodes, begin, end)
                                   : run<uint16_t>(blocks, encodes, begin, end);
}

void run_in_threads(HostVectors vectors, const HostBlocks& blocks, bool encodes) {
  // Numbers per thread and turn: a thread that another process delays holds back little.
  constexpr int64_t kTurn = int64_t{1} << 15;
  const int64_t turn = std::max<int64_t>(kTurn / blocks.width, 1);
#pragma omp parallel for schedule(dynamic) if (blocks.count > turn)
  for (int64_t begin = 0; begin < blocks.count; begin += turn) {
    const int64_t end = std::min(begin + turn, blocks.count);
    run_with(
        vectors, [&]() __attribute__((always_inline)) { run_any(blocks, encodes, begin, end); });
  }
}

}  // namespace

void encode_on_host(const HostBlocks& blocks, HostVectors vectors) {
  run_in_threads(vectors, blocks, true);
}

void decode_on_host(const HostBlocks& blocks, HostVectors vectors) {
  run_in_threads(vectors, blocks, false);
}

}  // namespace headroom
