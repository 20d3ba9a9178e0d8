#include <vector>

#include "profiling/theory/rehearsal/generate/kv_cache.h"
#include "profiling/theory/rehearsal/generate/pass.h"
#include "profiling/theory/rehearsal/model.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

ShapeTensor as_batch(const ShapeTensor& x_1HTK, int64_t sequences, int64_t length) {
  const ShapeTensor tokens = squeeze(narrow(x_1HTK, 2, sequences * length), 0);
  return transpose(view(tokens, {tokens.size(0), sequences, length, tokens.size(2)}), 0, 1);
}

ShapeTensor as_tokens(const ShapeTensor& heads_BHSK) {
  const Dims& sizes = heads_BHSK.sizes;
  const ShapeTensor wide =
      reshape(transpose(heads_BHSK, 1, 2), {sizes[0], sizes[2], sizes[1] * sizes[3]});
  return unsqueeze(reshape(wide, {sizes[0] * sizes[2], sizes[1] * sizes[3]}), 0);
}

ShapeTensor eager_masked(const ShapeTensor& q_BGSK, const ShapeTensor& k_BGTK,
                         const ShapeTensor& v_BGTK, const ShapeTensor& mask) {
  ShapeTensor scores = div_scalar(einsum("bgsk,bgtk->bgst", q_BGSK, k_BGTK));
  if (mask.defined()) scores = where(mask, scores);
  const ShapeTensor weights = softmax_last(scores);
  return einsum("bgst,bgtk->bgsk", weights, v_BGTK);
}

ShapeTensor decode(const ShapeLayout& pass, const PassAttention& attention,
                   const ShapeTensor& q_1HTK) {
  const KeyValueShapes cached = pass.cache->read(0, q_1HTK.size(2), q_1HTK.dtype);
  const int64_t groups = cached.k_BGTK.size(1);
  const ShapeTensor q_THK = transpose(squeeze(q_1HTK, 0), 0, 1);
  const ShapeTensor q_BGSK =
      view(q_THK, {q_THK.size(0), groups, q_THK.size(1) / groups, q_THK.size(2)});
  const ShapeTensor& mask = pass.cache->mask_B11T();
  const ShapeTensor heads_BGSK =
      attention.kind == Attention::kEager
          ? eager_masked(q_BGSK, cached.k_BGTK, cached.v_BGTK, mask)
          : decoding_attention(attention.device, q_BGSK, cached.k_BGTK, cached.v_BGTK);
  return unsqueeze(reshape(heads_BGSK, {q_THK.size(0), q_THK.size(1) * q_THK.size(2)}), 0);
}

// Spans [begin, end).
struct Batch {
  int64_t begin = 0;
  int64_t end = 0;
};

ShapeTensor attend_batch(const ShapeLayout& pass, const PassAttention& attention,
                         const Batch& batch, const ShapeTensor& q_1HTK, const ShapeTensor& k_1GTK,
                         const ShapeTensor& v_1GTK) {
  const RehearsedSpan& span = pass.spans[static_cast<size_t>(batch.begin)];
  const int64_t sequences = batch.end - batch.begin;
  const ShapeTensor q_BHSK = as_batch(q_1HTK, sequences, span.length);
  if (span.first == 0) {
    const ShapeTensor v_BGTK = as_batch(v_1GTK, sequences, span.length);
    const ShapeTensor k_BGTK = as_batch(k_1GTK, sequences, span.length);
    return as_tokens(attention.whole(q_BHSK, k_BGTK, v_BGTK));
  }
  const int64_t keys = span.first + span.length;
  const KeyValueShapes cached = pass.cache->read(batch.begin, batch.end, q_1HTK.dtype);
  const ShapeTensor k_BGTK = narrow(cached.k_BGTK, 2, keys);
  const ShapeTensor v_BGTK = narrow(cached.v_BGTK, 2, keys);
  if (attention.kind != Attention::kEager) {
    return as_tokens(later_attention(attention.device, q_BHSK, k_BGTK, v_BGTK));
  }
  const ShapeTensor v_BHTK = repeat_heads(v_BGTK, q_BHSK.size(1));
  return as_tokens(eager_attention(q_BHSK, repeat_heads(k_BGTK, q_BHSK.size(1)), v_BHTK));
}

}  // namespace

ShapeTensor attend_shape_pass(const ShapeLayout& pass, const PassAttention& attention,
                              const ShapeTensor& q_1HTK, const ShapeTensor& k_1GTK,
                              const ShapeTensor& v_1GTK) {
  if (pass.cache != nullptr) {
    pass.cache->append(transpose(squeeze(k_1GTK, 0), 0, 1), transpose(squeeze(v_1GTK, 0), 0, 1));
    if (pass.decodes()) return decode(pass, attention, q_1HTK);
  }
  const auto count = static_cast<int64_t>(pass.spans.size());
  if (pass.even()) return attend_batch(pass, attention, {0, count}, q_1HTK, k_1GTK, v_1GTK);
  std::vector<ShapeTensor> outputs;
  for (int64_t i = 0; i < count; ++i) {
    outputs.push_back(attend_batch(pass, attention, {i, i + 1}, q_1HTK, k_1GTK, v_1GTK));
  }
  return cat(outputs, 1);
}

}  // namespace headroom
