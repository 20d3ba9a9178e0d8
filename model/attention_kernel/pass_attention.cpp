#include "model/attention_kernel/pass_attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "model/attention.h"
#include "model/kv_cache/kv_cache.h"

namespace headroom {
namespace {

// Tokens [begin, begin + B * S) as a batch: (1, heads, T, K) -> (B, heads, S, K), a view.
Tensor as_batch(const Tensor& x_1HTK, int64_t begin, int64_t sequences, int64_t length) {
  const Tensor tokens = x_1HTK.narrow(2, begin, sequences * length).squeeze(0);
  return tokens.unflatten(1, {sequences, length}).transpose(0, 1);
}

// (B, H, S, K) -> (1, B * S, H * K).
Tensor as_tokens(const Tensor& heads_BHSK) {
  return heads_BHSK.transpose(1, 2).flatten(2).flatten(0, 1).unsqueeze(0);
}

Tensor repeated(const Tensor& x_BGTK, int64_t heads) {
  const int64_t groups = x_BGTK.size(1);
  return groups == heads ? x_BGTK : x_BGTK.repeat_interleave(heads / groups, 1);
}

// Written-out attention under a mask that broadcasts to the scores.
Tensor eager_masked(const Tensor& q_BGSK, const Tensor& k_BGTK, const Tensor& v_BGTK,
                    const Tensor& mask) {
  Tensor scores = torch::einsum("bgsk,bgtk->bgst", {q_BGSK, k_BGTK}) /
                  std::sqrt(static_cast<double>(q_BGSK.size(-1)));
  if (mask.defined()) {
    scores = torch::where(mask, scores, -std::numeric_limits<double>::infinity());
  }
  const Tensor weights = torch::softmax(scores, -1);
  return torch::einsum("bgst,bgtk->bgsk", {weights, v_BGTK});
}

// Each query sees all keys of its own sequence.
Tensor decode(const BatchLayout& pass, int64_t layer, Attention kind, const Tensor& q_1HTK) {
  const KeysValues cached = pass.cache->read(layer, 0, q_1HTK.size(2), q_1HTK.scalar_type());
  const int64_t groups = cached.k_BGTK.size(1);
  // The H / G query heads of a group become its queries.
  const Tensor q_BGSK = q_1HTK.squeeze(0).transpose(0, 1).unflatten(1, {groups, -1});
  const Tensor& mask_B11T = pass.cache->mask_B11T();
  Tensor heads_BGSK;
  if (kind == Attention::kEager) {
    heads_BGSK = eager_masked(q_BGSK, cached.k_BGTK, cached.v_BGTK, mask_B11T);
  } else {
    std::optional<Tensor> mask;
    if (mask_B11T.defined()) mask = mask_B11T;
    heads_BGSK = at::scaled_dot_product_attention(q_BGSK, cached.k_BGTK, cached.v_BGTK, mask);
  }
  return heads_BGSK.flatten(1).unsqueeze(0);
}

// Attention of spans [begin, end), of one length and one first position. Their tokens begin at
// `token`.
Tensor attend_batch(const BatchLayout& pass, int64_t layer, Attention kind,
                    const WholeAttention& whole, int64_t begin, int64_t end, int64_t token,
                    const Tensor& q_1HTK, const Tensor& k_1GTK, const Tensor& v_1GTK) {
  const SequenceSpan& span = pass.spans[static_cast<size_t>(begin)];
  const Tensor q_BHSK = as_batch(q_1HTK, token, end - begin, span.length);
  if (span.first == 0) {
    return as_tokens(whole(q_BHSK, as_batch(k_1GTK, token, end - begin, span.length),
                           as_batch(v_1GTK, token, end - begin, span.length)));
  }
  const int64_t keys = span.first + span.length;
  const KeysValues cached = pass.cache->read(layer, begin, end, q_1HTK.scalar_type());
  const Tensor k_BGTK = cached.k_BGTK.narrow(2, 0, keys);
  const Tensor v_BGTK = cached.v_BGTK.narrow(2, 0, keys);
  if (kind != Attention::kEager) {
    return as_tokens(sdpa_attention(q_BHSK, k_BGTK, v_BGTK, span.first));
  }
  const int64_t heads = q_BHSK.size(1);
  return as_tokens(
      eager_attention(q_BHSK, repeated(k_BGTK, heads), repeated(v_BGTK, heads), span.first));
}

}  // namespace

Tensor attend_pass(const BatchLayout& pass, int64_t layer, Attention kind,
                   const WholeAttention& whole, const Tensor& q_1HTK, const Tensor& k_1GTK,
                   const Tensor& v_1GTK) {
  TORCH_CHECK(q_1HTK.size(0) == 1 && q_1HTK.size(2) == pass.tokens(), "a pass of ", pass.tokens(),
              " tokens was given (", q_1HTK.size(0), ", ", q_1HTK.size(2), ") of them");
  if (pass.cache != nullptr) {
    pass.cache->append(layer, k_1GTK.squeeze(0).transpose(0, 1), v_1GTK.squeeze(0).transpose(0, 1));
    if (pass.decodes()) return decode(pass, layer, kind, q_1HTK);
  }
  const auto count = static_cast<int64_t>(pass.spans.size());
  if (pass.even()) {
    return attend_batch(pass, layer, kind, whole, 0, count, 0, q_1HTK, k_1GTK, v_1GTK);
  }
  std::vector<Tensor> outputs;
  int64_t token = 0;
  for (int64_t i = 0; i < count; ++i) {
    outputs.push_back(
        attend_batch(pass, layer, kind, whole, i, i + 1, token, q_1HTK, k_1GTK, v_1GTK));
    token += pass.spans[static_cast<size_t>(i)].length;
  }
  return torch::cat(outputs, 1);
}

}  // namespace headroom
