// How attention is computed. No torch here.
#pragma once

namespace headroom {

// softmax(q k^T / sqrt(K)) v: same parameters, same result within rounding.
enum class Attention {
  kEager,  // written out; keeps several (B, H, S, T) tensors for backward
  kFlash,  // at::scaled_dot_product_attention; keeps q, k, v, the output and (B, H, S) log-sums
};

}  // namespace headroom
