// How attention is computed. No torch here.
#pragma once

namespace headroom {

// softmax(q k^T / sqrt(K)) v: same parameters, same result within rounding.
enum class Attention {
  kEager,  // written out; keeps several (B, H, S, T) tensors for backward
  kSdpa,   // at::scaled_dot_product_attention, by the kernel that libtorch chooses
  // The same by one kernel and no other; where it does not run, nothing does.
  kMath,       // product, softmax, product; keeps one (B, H, S, T) tensor
  kFlash,      // keeps q, k, v, the output and (B, H, S) log-sums, as all below do
  kEfficient,  // libtorch's "memory-efficient" one
  kCudnn,
};

// Whether the kernel is asked for by name, and may be one that does not run.
constexpr bool is_forced(Attention attention) {
  return attention != Attention::kEager && attention != Attention::kSdpa;
}

// Whether it always keeps a (B, H, S, T) tensor for backward.
constexpr bool keeps_scores(Attention attention) {
  return attention == Attention::kEager || attention == Attention::kMath;
}

}  // namespace headroom
