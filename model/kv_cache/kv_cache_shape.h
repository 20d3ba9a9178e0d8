// Size and element type of a key/value cache. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

enum class KvCacheForm {
  kContiguous,  // one row of memory per sequence, as long as the longest may become
  kPaged,       // blocks of 16 tokens, given to a sequence as it grows
};

// Storage type of keys and values. kInt8 and kFp8 (e4m3) are codes with an FP32 scale for each
// token and head.
enum class KvCacheType { kFp32, kBf16, kFp16, kFp8, kInt8 };

constexpr bool has_scales(KvCacheType type) {
  return type == KvCacheType::kFp8 || type == KvCacheType::kInt8;
}

constexpr int64_t kKvCacheBlock = 16;  // tokens per block, as in vLLM

struct KvCacheShape {
  KvCacheForm form = KvCacheForm::kContiguous;
  KvCacheType type = KvCacheType::kFp32;
  int64_t layers = 0;
  int64_t kv_heads = 0;   // G: grouped-query heads are stored once
  int64_t head_dim = 0;   // K
  int64_t sequences = 0;  // at once
  int64_t tokens = 0;     // in the longest sequence
  int64_t blocks = 0;     // in a paged cache; 0 = as many as `sequences` of `tokens` need

  int64_t blocks_of_a_sequence() const { return (tokens + kKvCacheBlock - 1) / kKvCacheBlock; }
  int64_t all_blocks() const { return blocks > 0 ? blocks : sequences * blocks_of_a_sequence(); }
  // Number of sequences of `tokens` that fit at once.
  int64_t at_once() const {
    if (form == KvCacheForm::kContiguous || tokens == 0) return sequences;
    const int64_t fit = all_blocks() / blocks_of_a_sequence();
    return fit < sequences ? fit : sequences;
  }
  // Tokens that fit.
  int64_t slots() const {
    return form == KvCacheForm::kPaged ? all_blocks() * kKvCacheBlock : sequences * tokens;
  }
  // Bytes of one element of a key or value.
  int64_t element_bytes() const {
    return type == KvCacheType::kFp32 ? 4 : has_scales(type) ? 1 : 2;
  }
  // All keys and values: 2 * layers * slots * G * K elements.
  int64_t code_bytes() const {
    return 2 * layers * slots() * kv_heads * head_dim * element_bytes();
  }
  int64_t scale_bytes() const { return has_scales(type) ? 2 * layers * slots() * kv_heads * 4 : 0; }
  int64_t bytes() const { return code_bytes() + scale_bytes(); }
};

}  // namespace headroom
