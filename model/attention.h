// Causal multi-head self-attention, with grouped-query heads where the shape has them.
#pragma once

#include <torch/torch.h>

#include "model/config.h"
#include "model/layers.h"

namespace headroom {

// How softmax(q k^T / sqrt(K)) v is computed. Same parameters, same result within rounding.
enum class AttentionKind {
  kEager,  // written out; keeps several (B, H, S, T) tensors for backward
  kFlash,  // at::scaled_dot_product_attention; keeps q, k, v, the output and (B, H, S) log-sums
};

class CausalSelfAttentionImpl : public torch::nn::Module {
 public:
  CausalSelfAttentionImpl(const ModelConfig& config, AttentionKind kind, const RotaryTable* rotary,
                          const torch::TensorOptions& options);
  Tensor forward(const Tensor& x_BSD);

 private:
  Tensor eager(const Tensor& q_BHSK, const Tensor& k_BHTK, const Tensor& v_BHTK) const;
  Tensor flash(const Tensor& q_BHSK, const Tensor& k_BGTK, const Tensor& v_BGTK) const;

  int64_t heads_, kv_heads_;
  AttentionKind kind_;
  const RotaryTable* rotary_;  // owned by the transformer
  Linear q_proj_{nullptr}, k_proj_{nullptr}, v_proj_{nullptr}, output_proj_{nullptr};
};
TORCH_MODULE(CausalSelfAttention);

}  // namespace headroom
