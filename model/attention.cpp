#include "model/attention.h"

#include <cmath>
#include <limits>

namespace headroom {
namespace {

// (B, S, heads * K) -> (B, heads, S, K), a view.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return x.unflatten(-1, {heads, x.size(-1) / heads}).transpose(1, 2);
}

// Each key/value head once per query head of its group: (B, G, T, K) -> (B, H, T, K).
Tensor repeat_heads(const Tensor& x_BGTK, int64_t heads) {
  const int64_t groups = x_BGTK.size(1);
  return groups == heads ? x_BGTK : x_BGTK.repeat_interleave(heads / groups, 1);
}

// Softmax over the last dimension, written out. The locals live to the end, as in the reference.
Tensor softmax(const Tensor& scores_BHST) {
  const Tensor shifted_BHST = scores_BHST - std::get<0>(scores_BHST.max(-1, /*keepdim=*/true));
  const Tensor exp_BHST = torch::exp(shifted_BHST);
  return exp_BHST / exp_BHST.sum(-1, /*keepdim=*/true);
}

}  // namespace

CausalSelfAttentionImpl::CausalSelfAttentionImpl(const ModelConfig& config, AttentionKind kind,
                                                 const RotaryTable* rotary,
                                                 const torch::TensorOptions& options)
    : heads_(config.heads), kv_heads_(config.kv_heads), kind_(kind), rotary_(rotary) {
  const int64_t d = config.d_model;
  q_proj_ = register_module("q_proj", Linear(d, d, options));
  k_proj_ = register_module("k_proj", Linear(d, config.kv_dim(), options));
  v_proj_ = register_module("v_proj", Linear(d, config.kv_dim(), options));
  output_proj_ = register_module("output_proj", Linear(d, d, options));
}

Tensor CausalSelfAttentionImpl::forward(const Tensor& x_BSD) {
  Tensor q_BHSK = split_heads(q_proj_(x_BSD), heads_);
  Tensor k_BGTK = split_heads(k_proj_(x_BSD), kv_heads_);
  const Tensor v_BGTK = split_heads(v_proj_(x_BSD), kv_heads_);
  q_BHSK = rotary_->rotate(q_BHSK);
  k_BGTK = rotary_->rotate(k_BGTK);
  Tensor heads_BHSK = kind_ == AttentionKind::kFlash ? flash(q_BHSK, k_BGTK, v_BGTK)
                                                     : eager(q_BHSK, repeat_heads(k_BGTK, heads_),
                                                             repeat_heads(v_BGTK, heads_));
  heads_BHSK = heads_BHSK.transpose(1, 2).flatten(2).contiguous();  // (B, S, D)
  return output_proj_(heads_BHSK);
}

Tensor CausalSelfAttentionImpl::eager(const Tensor& q_BHSK, const Tensor& k_BHTK,
                                      const Tensor& v_BHTK) const {
  const Tensor positions = torch::arange(q_BHSK.size(2), q_BHSK.options().dtype(torch::kInt64));
  const Tensor mask_11ST = positions.view({1, 1, -1, 1}) >= positions.view({1, 1, 1, -1});
  Tensor scores_BHST = torch::einsum("bhsk,bhtk->bhst", {q_BHSK, k_BHTK}) /
                       std::sqrt(static_cast<double>(q_BHSK.size(-1)));
  scores_BHST = torch::where(mask_11ST, scores_BHST, -std::numeric_limits<double>::infinity());
  const Tensor weights_BHST = softmax(scores_BHST);
  return torch::einsum("bhst,bhtk->bhsk", {weights_BHST, v_BHTK});
}

Tensor CausalSelfAttentionImpl::flash(const Tensor& q_BHSK, const Tensor& k_BGTK,
                                      const Tensor& v_BGTK) const {
  // Autocast has a rule for scaled_dot_product_attention, so q and k (FP32 out of the FP32 rotary
  // tables) and v (the projection's dtype) meet in one dtype.
  return at::scaled_dot_product_attention(q_BHSK, k_BGTK, v_BGTK, /*attn_mask=*/{},
                                          /*dropout_p=*/0.0, /*is_causal=*/true,
                                          /*scale=*/std::nullopt,
                                          /*enable_gqa=*/kv_heads_ != heads_);
}

}  // namespace headroom
