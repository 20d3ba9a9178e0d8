#include "train/optim/code_search.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace headroom {
namespace {

#ifdef __x86_64__
// A lambda would not take the instruction set of its function.
#define HEADROOM_AVX512 [[gnu::target("avx512f"), gnu::always_inline]] inline

HEADROOM_AVX512 float largest_magnitude(const float* numbers, int64_t count) {
  const __m512i without_sign = _mm512_set1_epi32(0x7fffffff);
  __m512i largest = _mm512_setzero_si512();
  for (int64_t i = 0; i < count; i += 16) {
    const __m512i bits = _mm512_loadu_si512(numbers + i);
    largest = _mm512_max_epi32(largest, _mm512_and_si512(without_sign, bits));
  }
  alignas(64) std::array<int32_t, 16> each;
  _mm512_store_si512(each.data(), largest);
  return std::bit_cast<float>(*std::max_element(each.begin(), each.end()));
}

// Reads one of the 32 numbers at `nodes` for each node: its lower five bits are the index.
HEADROOM_AVX512 __m512 selected(const float* nodes, __m512i node) {
  return _mm512_permutex2var_ps(_mm512_load_ps(nodes), node, _mm512_load_ps(nodes + 16));
}

// The same for 64 and 128 numbers: the lower six and seven bits are the index.
HEADROOM_AVX512 __m512 selected_of_64(const float* nodes, __m512i node) {
  const __mmask16 upper = _mm512_test_epi32_mask(node, _mm512_set1_epi32(32));
  return _mm512_mask_blend_ps(upper, selected(nodes, node), selected(nodes + 32, node));
}
HEADROOM_AVX512 __m512 selected_of_128(const float* nodes, __m512i node) {
  const __mmask16 upper = _mm512_test_epi32_mask(node, _mm512_set1_epi32(64));
  return _mm512_mask_blend_ps(upper, selected_of_64(nodes, node), selected_of_64(nodes + 64, node));
}

// A NaN is above every middle, as in at::bucketize.
HEADROOM_AVX512 __m512i child(__m512i node, __m512 x, __m512 middle) {
  const __m512i lower = _mm512_add_epi32(node, node);
  const __mmask16 is_above = _mm512_cmp_ps_mask(x, middle, _CMP_NLE_UQ);
  return _mm512_mask_add_epi32(lower, is_above, lower, _mm512_set1_epi32(1));
}

[[gnu::target("avx512f")]] float encode(const float* nodes, const float* numbers, int64_t count,
                                        uint8_t* codes) {
  const float scale = largest_magnitude(numbers, count);
  for (int64_t i = 0; i < count; i += 16) {
    const __m512 x = _mm512_div_ps(_mm512_loadu_ps(numbers + i), _mm512_set1_ps(scale));
    __m512i node = _mm512_set1_epi32(1);
    for (int depth = 0; depth < 5; ++depth) node = child(node, x, selected(nodes, node));
    node = child(node, x, selected(nodes + 32, node));
    node = child(node, x, selected_of_64(nodes + 64, node));
    node = child(node, x, selected_of_128(nodes + 128, node));
    // A leaf is the code and 256; its lower eight bits are stored.
    _mm_storeu_si128(reinterpret_cast<__m128i*>(codes + i), _mm512_cvtepi32_epi8(node));
  }
  return scale;
}
#else
float encode(const float* /*nodes*/, const float* /*numbers*/, int64_t /*count*/,
             uint8_t* /*codes*/) {
  std::abort();
}
#endif

}  // namespace

MiddleTree::MiddleTree(std::span<const float, kCodes - 1> middles) : nodes_() {
  for (int first = 1; first < kCodes; first *= 2) {  // of a level, which has as many nodes
    const int codes = kCodes / first;                // below one node
    for (int i = 0; i < first; ++i) nodes_[first + i] = middles[i * codes + codes / 2 - 1];
  }
}

float MiddleTree::encode_block(const float* numbers, int64_t count, uint8_t* codes) const {
  return encode(nodes_.data(), numbers, count, codes);
}

}  // namespace headroom
