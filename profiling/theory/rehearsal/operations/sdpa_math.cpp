// Like at::_scaled_dot_product_attention_math().
#include "profiling/theory/rehearsal/model.h"
#include "profiling/theory/rehearsal/operations/sdpa.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// at::matmul() of four dimensions: the first two become one.
ShapeTensor matmul(const ShapeTensor& a, const ShapeTensor& b) {
  const auto flat = [](const ShapeTensor& x) {
    return reshape(x, {x.size(0) * x.size(1), x.size(2), x.size(3)});
  };
  const ShapeTensor product = bmm(flat(a), flat(b));
  ShapeTensor c = view(product, {a.size(0), a.size(1), a.size(2), b.size(3)});
  c.is_view = false;  // _unsafe_view()
  return c;
}

// Softmax whose rows may be masked as a whole: where they are is looked for.
ShapeTensor safe_softmax(const ShapeTensor& scores) {
  Run& run = *scores.run;
  run.memory.site.operation = "_safe_softmax";
  ShapeTensor weights = empty(run, scores.sizes, scores.dtype);
  {
    const ShapeTensor masked = empty(run, scores.sizes, DType::kBool);
    Dims rows = scores.sizes;
    rows[3] = 1;
    const ShapeTensor masked_rows = empty(run, rows, DType::kBool);
    const ShapeTensor zero = empty(run, {}, scores.dtype);
  }
  if (is_recorded({&scores})) {
    Node& node = attach("SafeSoftmaxBackward0", weights, {&scores});
    node.apply = [saved = Saved(weights)](ShapeTensor& grad) {
      const ShapeTensor kept = saved.unpack();
      ShapeTensor to_scores = empty(*grad.run, grad.sizes, grad.dtype);
      const ShapeTensor product = empty(*grad.run, grad.sizes, grad.dtype);
      return Tensors{to_scores};
    };
  }
  return weights;
}

ShapeTensor causal_mask(Run& run, int64_t queries, int64_t keys, DType dtype) {
  run.memory.site.operation = "tril";
  ShapeTensor ones = empty(run, {queries, keys}, DType::kBool);
  const ShapeTensor lower = empty(run, {queries, keys}, DType::kBool);
  ones = {};
  run.memory.site.operation = "where";
  const ShapeTensor zero = empty(run, {}, dtype);
  const ShapeTensor minus_infinity = empty(run, {}, dtype);
  return empty(run, {queries, keys}, dtype);
}

}  // namespace

// In FP32 whatever it is given. Its second result, the weights, nobody takes: they go when all else
// has gone.
ShapeTensor math_attention(const ShapeTensor& q_given, const ShapeTensor& k_given,
                           const ShapeTensor& v_given, bool causal) {
  ShapeTensor returned_weights;
  const ShapeTensor q_BHSK = to(q_given, DType::kFp32);
  const ShapeTensor k_BGTK = to(k_given, DType::kFp32);
  const ShapeTensor v_BGTK = to(v_given, DType::kFp32);
  ShapeTensor mask;
  const ShapeTensor q = mul_scalar(q_BHSK);
  if (causal) mask = causal_mask(*q.run, q.size(2), k_BGTK.size(2), q.dtype);
  ShapeTensor v_BHTK;
  const ShapeTensor k_BHTK = repeat_heads(k_BGTK, q.size(1));
  v_BHTK = repeat_heads(v_BGTK, q.size(1));
  ShapeTensor weights;
  {
    const ShapeTensor k = mul_scalar(k_BHTK);
    weights = matmul(q, transpose(k, 2, 3));
  }
  weights = safe_softmax(weights);
  returned_weights = to(weights, q_given.dtype);
  return to(matmul(weights, v_BHTK), q_given.dtype);
}

}  // namespace headroom
