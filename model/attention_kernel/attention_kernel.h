// How attention is computed. No torch here.
#pragma once

namespace headroom {

// softmax(q k^T / sqrt(K)) v: same parameters, same result within rounding.
enum class Attention {
  kEager,  // written out; keeps several (B, H, S, T) tensors for backward
  kSdpa,   // at::scaled_dot_product_attention, by the kernel that libtorch chooses
  // Only the named kernel; an error where that kernel does not run.
  kMath,       // product, softmax, product; keeps one (B, H, S, T) tensor
  kFlash,      // keeps q, k, v, the output and (B, H, S) log-sums, as all below do
  kEfficient,  // libtorch's "memory-efficient" kernel
  kCudnn,
};

// True if the user names the kernel. A named kernel may not run.
constexpr bool is_forced(Attention attention) {
  return attention != Attention::kEager && attention != Attention::kSdpa;
}

// True if the kernel always keeps a (B, H, S, T) tensor for backward.
constexpr bool keeps_scores(Attention attention) {
  return attention == Attention::kEager || attention == Attention::kMath;
}

}  // namespace headroom
