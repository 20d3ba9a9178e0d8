// Which implementation of the model's arithmetic runs. Same parameters, same result within
// rounding. No torch here.
#pragma once

#include "text/enum_words.h"

namespace headroom {

enum class Kernels { kEager };
const EnumWords<Kernels>& words_of(Kernels);

// How softmax(q k^T / sqrt(K)) v is computed.
enum class Attention {
  kEager,  // written out; keeps several (B, H, S, T) tensors for backward
  kFlash,  // scaled_dot_product_attention; keeps q, k, v, the output and (B, H, S) log-sums
};
const EnumWords<Attention>& words_of(Attention);
std::string to_string(Attention attention);  // "flash"

}  // namespace headroom
