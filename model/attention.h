// Causal multi-head self-attention, with grouped-query heads, biases of the projections and norms
// of the heads where the shape has them.
#pragma once

#include <functional>

#include "model/attention_kernel/attention_kernel.h"
#include "model/attention_kernel/pass_attention.h"
#include "model/layer_factory.h"
#include "model/layers.h"
#include "model/torch.h"

namespace headroom {

// Mask of the keys that each query may see, (1, 1, S, T): its own position and earlier ones.
// positions_T counts from 0; the S queries stand at [first_position, first_position + S).
Tensor causal_mask(const Tensor& positions_T, int64_t queries, int64_t first_position = 0);

// softmax(q k^T / sqrt(K)) v under that mask. eager_attention needs as many key heads as query
// heads; scaled_dot_product_attention takes fewer (G).
Tensor eager_attention(const Tensor& q_BHSK, const Tensor& k_BHTK, const Tensor& v_BHTK,
                       int64_t first_position = 0);
Tensor sdpa_attention(const Tensor& q_BHSK, const Tensor& k_BGTK, const Tensor& v_BGTK,
                      int64_t first_position = 0);
// Attention over whole sequences, by the kernel that `kind` names or, for kSdpa, by libtorch's
// choice. Throws UnsupportedAttention where the named kernel does not run
// (model/attention_kernel/forced_kernel.h).
Tensor fused_attention(Attention kind, const Tensor& q_BHSK, const Tensor& k_BGTK,
                       const Tensor& v_BGTK);

class CausalSelfAttention : public LayerModule {
 public:
  CausalSelfAttention(const LayerFactory& layers, const ModelConfig& config, Attention kind,
                      const Positions* positions, const torch::TensorOptions& options);
  Tensor forward(const Tensor& x_BSD) override;

  // Only eager attention uses `run`: the fused kernels store no scores.
  void run_core_by(const AttentionRunner& run) override { run_core_ = run; }

 private:
  Tensor eager(const Tensor& q_BHSK, const Tensor& k_BHTK, const Tensor& v_BHTK) const;
  Tensor whole(const Tensor& q_BHSK, const Tensor& k_BGTK, const Tensor& v_BGTK) const;

  int64_t head_dim_;
  Attention kind_;
  const Positions* positions_;  // owned by the transformer
  Layer q_proj_, k_proj_, v_proj_, output_proj_;
  Layer q_norm_, k_norm_;     // null: none
  AttentionRunner run_core_;  // null: called directly
};

}  // namespace headroom
