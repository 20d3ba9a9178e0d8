#include "model/attention.h"

#include <cmath>
#include <limits>

#include "model/attention_kernel/forced_kernel.h"

namespace headroom {
namespace {

// (B, S, heads * K) -> (B, heads, S, K), a view if there is no norm. The projection's rows give the
// number of heads.
Tensor split_heads(const Tensor& x, int64_t head_dim, const Layer& norm = nullptr) {
  Tensor x_BSHK = x.unflatten(-1, {x.size(-1) / head_dim, head_dim});
  if (norm) x_BSHK = norm->forward(x_BSHK);
  return x_BSHK.transpose(1, 2);
}

// Repeats each key/value head for every query head of its group: (B, G, T, K) -> (B, H, T, K).
Tensor repeat_heads(const Tensor& x_BGTK, int64_t heads) {
  const int64_t groups = x_BGTK.size(1);
  return groups == heads ? x_BGTK : x_BGTK.repeat_interleave(heads / groups, 1);
}

// Positions of the keys: 0, 1, ... T - 1.
Tensor positions_of(const Tensor& k_BGTK) {
  return torch::arange(k_BGTK.size(2), k_BGTK.options().dtype(torch::kInt64));
}

// Softmax over the last dimension, written out. The locals live to the end, as in the reference.
Tensor softmax(const Tensor& scores_BHST) {
  const Tensor shifted_BHST = scores_BHST - std::get<0>(scores_BHST.max(-1, /*keepdim=*/true));
  const Tensor exp_BHST = torch::exp(shifted_BHST);
  return exp_BHST / exp_BHST.sum(-1, /*keepdim=*/true);
}

}  // namespace

Tensor causal_mask(const Tensor& positions_T, int64_t queries, int64_t first_position) {
  const Tensor positions_S = positions_T.narrow(0, first_position, queries);
  return positions_S.view({1, 1, -1, 1}) >= positions_T.view({1, 1, 1, -1});
}

// positions_T lives to the end, as in the reference.
Tensor eager_attention(const Tensor& q_BHSK, const Tensor& k_BHTK, const Tensor& v_BHTK,
                       int64_t first_position) {
  const Tensor positions_T = positions_of(k_BHTK);
  const Tensor mask_11ST = causal_mask(positions_T, q_BHSK.size(2), first_position);
  Tensor scores_BHST = torch::einsum("bhsk,bhtk->bhst", {q_BHSK, k_BHTK}) /
                       std::sqrt(static_cast<double>(q_BHSK.size(-1)));
  scores_BHST = torch::where(mask_11ST, scores_BHST, -std::numeric_limits<double>::infinity());
  const Tensor weights_BHST = softmax(scores_BHST);
  return torch::einsum("bhst,bhtk->bhsk", {weights_BHST, v_BHTK});
}

Tensor sdpa_attention(const Tensor& q_BHSK, const Tensor& k_BGTK, const Tensor& v_BGTK,
                      int64_t first_position) {
  // is_causal aligns the first query with the first key, so later queries need a mask.
  std::optional<Tensor> mask_11ST;
  if (first_position > 0) {
    mask_11ST = causal_mask(positions_of(k_BGTK), q_BHSK.size(2), first_position);
  }
  // Autocast has a rule for scaled_dot_product_attention, so q and k (FP32 out of the FP32 rotary
  // tables) and v (the projection's dtype) meet in one dtype.
  return at::scaled_dot_product_attention(q_BHSK, k_BGTK, v_BGTK, mask_11ST,
                                          /*dropout_p=*/0.0, /*is_causal=*/first_position == 0,
                                          /*scale=*/std::nullopt,
                                          /*enable_gqa=*/k_BGTK.size(1) != q_BHSK.size(1));
}

Tensor fused_attention(Attention kind, const Tensor& q_BHSK, const Tensor& k_BGTK,
                       const Tensor& v_BGTK) {
  const auto attend = [&] { return sdpa_attention(q_BHSK, k_BGTK, v_BGTK); };
  return is_forced(kind) ? with_kernel(kind, attend) : attend();
}

CausalSelfAttention::CausalSelfAttention(const LayerFactory& layers, const ModelConfig& config,
                                         Attention kind, const Positions* positions,
                                         const torch::TensorOptions& options)
    : head_dim_(config.head_dim()), kind_(kind), positions_(positions) {
  const int64_t d = config.d_model;
  const auto projection = [&](int64_t out) {
    return layers.linear(d, out, config.qkv_bias, options);
  };
  q_proj_ = register_module("q_proj", projection(config.q_dim()));
  k_proj_ = register_module("k_proj", projection(config.kv_dim()));
  v_proj_ = register_module("v_proj", projection(config.kv_dim()));
  output_proj_ =
      register_module("output_proj", layers.linear(config.q_dim(), d, /*has_bias=*/false, options));
  if (!config.qk_norm) return;
  q_norm_ = register_module("q_norm", layers.rms_norm(head_dim_, config.norm_eps, options));
  k_norm_ = register_module("k_norm", layers.rms_norm(head_dim_, config.norm_eps, options));
}

Tensor CausalSelfAttention::eager(const Tensor& q_BHSK, const Tensor& k_BHTK,
                                  const Tensor& v_BHTK) const {
  if (!run_core_) return eager_attention(q_BHSK, k_BHTK, v_BHTK);
  return run_core_(
      [](const Tensor& q, const Tensor& k, const Tensor& v) { return eager_attention(q, k, v); },
      q_BHSK, k_BHTK, v_BHTK);
}

// Attention over sequences from their first token on, without a cache.
Tensor CausalSelfAttention::whole(const Tensor& q_BHSK, const Tensor& k_BGTK,
                                  const Tensor& v_BGTK) const {
  const int64_t heads = q_BHSK.size(1);
  return kind_ == Attention::kEager
             ? eager(q_BHSK, repeat_heads(k_BGTK, heads), repeat_heads(v_BGTK, heads))
             : fused_attention(kind_, q_BHSK, k_BGTK, v_BGTK);
}

Tensor CausalSelfAttention::forward(const Tensor& x_BSD) {
  Tensor q_BHSK = split_heads(q_proj_->forward(x_BSD), head_dim_, q_norm_);
  Tensor k_BGTK = split_heads(k_proj_->forward(x_BSD), head_dim_, k_norm_);
  const Tensor v_BGTK = split_heads(v_proj_->forward(x_BSD), head_dim_);
  // The rotation runs in the tables' FP32. The result is cast to the type of the layer's input:
  // BF16 with BF16 weights, FP32 under autocast, which casts for the products itself.
  q_BHSK = positions_->rotate(q_BHSK).to(x_BSD.scalar_type());
  k_BGTK = positions_->rotate(k_BGTK).to(x_BSD.scalar_type());
  if (positions_->pass != nullptr) {
    const WholeAttention attend = [this](const Tensor& q, const Tensor& k, const Tensor& v) {
      return whole(q, k, v);
    };
    return output_proj_->forward(
        attend_pass(*positions_->pass, positions_->layer, kind_, attend, q_BHSK, k_BGTK, v_BGTK));
  }
  Tensor heads_BHSK = whole(q_BHSK, k_BGTK, v_BGTK);
  heads_BHSK = heads_BHSK.transpose(1, 2).flatten(2).contiguous();  // (B, S, H*K)
  return output_proj_->forward(heads_BHSK);
}

}  // namespace headroom
