#include "profiling/theory/rehearsal/operations/sdpa.h"

#include <algorithm>
#include <vector>

#include "profiling/theory/rehearsal/run.h"
#include "train/settings/whole_units.h"

namespace headroom {
namespace {

enum class Mask { kNone, kCausal, kGiven };

int64_t tiles(int64_t size, int64_t unit) { return (size + unit - 1) / unit; }

ShapeTensor bytes(Run& run, int64_t count) { return empty(run, {count}, DType::kBool); }

// The sizes of a call: B batch, H heads of queries, S queries, T keys, K head dimension.
struct Problem {
  Problem(const ShapeTensor& q, const ShapeTensor& k)
      : B(q.size(0)), H(q.size(1)), G(k.size(1)), S(q.size(2)), T(k.size(2)), K(q.size(3)) {}
  int64_t B, H, G, S, T, K;
};

// (B, H, S, K) as the kernel lays it out: (B, S, H, K).
ShapeTensor tokens_first(Run& run, const Dims& sizes, DType dtype) {
  ShapeTensor made = empty(run, {sizes[0], sizes[2], sizes[1], sizes[3]}, dtype);
  std::swap(made.sizes[1], made.sizes[2]);
  std::swap(made.strides[1], made.strides[2]);
  return made;
}

// The computation of the gradients of three inputs.
using Backward = std::function<Tensors(ShapeTensor& grad, const ShapeTensor& q,
                                       const ShapeTensor& k, const ShapeTensor& v)>;

// The inputs, saved before the kernel runs.
struct Inputs {
  Inputs(const ShapeTensor& q_BHSK, const ShapeTensor& k_BGTK, const ShapeTensor& v_BGTK)
      : q(q_BHSK),
        k(k_BGTK),
        v(v_BGTK),
        recorded(is_recorded({&q, &k, &v})),
        saved_k(save_if(recorded, k)),
        saved_q(save_if(recorded, q)),
        saved_v(save_if(recorded, v)) {}

  const ShapeTensor& q;
  const ShapeTensor& k;
  const ShapeTensor& v;
  bool recorded;
  Saved saved_k, saved_q, saved_v;
};

// Keeps the inputs, the output and what else the kernel leaves.
void keep(const char* name, ShapeTensor& out, const Inputs& inputs,
          const std::vector<ShapeTensor>& others, const Backward& backward) {
  if (!inputs.recorded) return;
  Node& node = attach(name, out, {&inputs.q, &inputs.k, &inputs.v});
  std::vector<Saved> left = {Saved(out)};
  for (const ShapeTensor& other : others) left.emplace_back(other);
  node.apply = [sk = inputs.saved_k, sq = inputs.saved_q, sv = inputs.saved_v, left,
                backward](ShapeTensor& grad) {
    const ShapeTensor k = sk.unpack();
    const ShapeTensor q = sq.unpack();
    const ShapeTensor v = sv.unpack();
    std::vector<ShapeTensor> made;
    made.reserve(left.size());
    for (const Saved& each : left) made.push_back(each.unpack());
    return backward(grad, q, k, v);
  };
}

// Sums of gradients that several blocks of threads add to: 64 queries a block, or 128 where the
// head dimension is beyond 64, and 64 of the head dimension, or 128; 16 bytes of lock and counter
// each. In a lower precision those of k and v are summed there, too, where a head does not fit the
// registers.
int64_t efficient_workspace(const Problem& p, bool low) {
  const int64_t queries = p.K > 64 ? 128 : 64;
  const int64_t columns = low && p.K > 64 && p.K <= 128 ? 128 : 64;
  const int64_t of_q = tiles(p.S, queries) * tiles(p.K, columns) * (16 + queries * columns * 4);
  const int64_t of_k = low && p.K > 128 ? whole_units(p.T, 64) * whole_units(p.K, 128) * 4 : 0;
  return p.B * p.H * (of_q + 2 * of_k);
}

Tensors efficient_backward(ShapeTensor& grad, const ShapeTensor& q, const ShapeTensor& k,
                           const ShapeTensor& v) {
  Run& run = *grad.run;
  const ShapeTensor straight = contiguous(transpose(grad, 1, 2));
  const ShapeTensor to_q = tokens_first(run, q.sizes, q.dtype);
  const ShapeTensor to_k = tokens_first(run, k.sizes, k.dtype);
  const ShapeTensor to_v = tokens_first(run, v.sizes, v.dtype);
  const bool low = q.dtype != DType::kFp32;
  ShapeTensor workspace;
  ShapeTensor delta;
  if (low) {  // the kernel sums
    delta = empty(run, {q.size(0), q.size(1), q.size(2)}, DType::kFp32);
  } else {  // (grad * out).sum(-1)
    const ShapeTensor product = empty(run, straight.sizes, DType::kFp32);
    const ShapeTensor sum = empty(run, {q.size(0), q.size(2), q.size(1)}, DType::kFp32);
    delta = contiguous(transpose(sum, 1, 2));
  }
  workspace = bytes(run, efficient_workspace({q, k}, low));
  return {to_q, to_k, to_v};
}

ShapeTensor efficient_attention(const ShapeTensor& q, const ShapeTensor& k, const ShapeTensor& v) {
  Run& run = *q.run;
  const Inputs inputs(q, k, v);
  run.memory.site.operation = "_scaled_dot_product_efficient_attention";
  ShapeTensor out = tokens_first(run, q.sizes, q.dtype);
  ShapeTensor logsumexp;  // of whole tiles of 32 queries
  if (inputs.recorded) {
    logsumexp = empty(run, {q.size(0), q.size(1), whole_units(q.size(2), 32)}, DType::kFp32);
  }
  {  // Heads that do not fit the registers are summed in FP32.
    ShapeTensor sums;
    if (q.dtype != DType::kFp32 && q.size(3) > 128) sums = empty(run, out.sizes, DType::kFp32);
  }
  if (!inputs.recorded) return out;
  keep("ScaledDotProductEfficientAttentionBackward0", out, inputs, {logsumexp}, efficient_backward);
  return out;
}

Tensors cudnn_backward(ShapeTensor& grad, const ShapeTensor& q, const ShapeTensor& k,
                       const ShapeTensor& v) {
  const Problem p(q, k);
  Run& run = *grad.run;
  const ShapeTensor to_q = empty_like(q, q.dtype);
  const ShapeTensor to_k = empty_like(k, k.dtype);
  const ShapeTensor to_v = empty_like(v, v.dtype);
  // The gradient of q in FP32, a sum a row, 256 bytes; of k and v for every head of the queries
  // where they have fewer.
  const int64_t expanded = p.G == p.H ? 0 : 2 * p.B * p.H * p.T * p.K * element_size(k.dtype);
  const ShapeTensor workspace = bytes(run, p.B * p.H * p.S * (p.K + 1) * 4 + 256 + expanded);
  return {to_q, to_k, to_v};
}

// The engine that 9.19 takes where there is a mask wants 256 bytes, and the one for none
// nothing.
ShapeTensor cudnn_attention(const ShapeTensor& q, const ShapeTensor& k, const ShapeTensor& v,
                            Mask mask) {
  Run& run = *q.run;
  const Inputs inputs(q, k, v);
  run.memory.site.operation = "_scaled_dot_product_cudnn_attention";
  const ShapeTensor seed = empty(run, {}, DType::kInt64);
  const ShapeTensor offset = empty(run, {}, DType::kInt64);
  ShapeTensor out = empty_like(q, q.dtype);
  std::vector<ShapeTensor> others = {seed, offset};
  if (inputs.recorded) {
    others.push_back(empty(run, {q.size(0), q.size(1), q.size(2), 1}, DType::kFp32));
  }
  if (mask != Mask::kNone) const ShapeTensor workspace = bytes(run, 256);
  keep("ScaledDotProductCudnnAttentionBackward0", out, inputs, others, cudnn_backward);
  return out;
}

Tensors flash_backward(ShapeTensor& grad, const ShapeTensor& q, const ShapeTensor& k,
                       const ShapeTensor& v) {
  const Problem p(q, k);
  Run& run = *grad.run;
  const ShapeTensor straight = contiguous(grad);
  const ShapeTensor to_q = empty_like(q, q.dtype);
  const ShapeTensor to_k = empty_like(k, k.dtype);
  const ShapeTensor to_v = empty_like(v, v.dtype);
  const int64_t queries = whole_units(p.S, 128);
  const int64_t head = p.K <= 192 ? whole_units(p.K, 32) : 256;
  const ShapeTensor row_sums = empty(run, {p.B, p.H, queries}, DType::kFp32);
  const ShapeTensor sums = empty(run, {p.B, queries, p.H, head}, DType::kFp32);
  if (p.G != p.H) {  // for every head of the queries, then summed
    const ShapeTensor expanded_k = empty(run, q.sizes, k.dtype);
    const ShapeTensor expanded_v = empty(run, q.sizes, k.dtype);
  }
  return {to_q, to_k, to_v};
}

// num_splits_heuristic(): as many parts of the keys as keep the card about as busy as it can be.
int64_t key_splits(const Problem& p, int64_t multiprocessors) {
  const int64_t tile = p.K <= 64 ? 256 : p.K <= 128 ? 128 : 64;
  const int64_t keys = tiles(p.T, tile);
  const int64_t work = p.B * p.H * tiles(p.S, 64);
  const int64_t places = 2 * multiprocessors;
  if (static_cast<double>(work) >= 0.8 * static_cast<double>(places)) return 1;
  const int64_t most = std::min({int64_t{128}, places, keys});
  const auto efficiency = [&](int64_t splits) {
    if (splits > 1 && tiles(keys, splits) == tiles(keys, splits - 1)) return 0.0;
    const double waves = static_cast<double>(work * splits) / static_cast<double>(places);
    return waves / static_cast<double>(tiles(work * splits, places));
  };
  double best = 0;
  for (int64_t splits = 1; splits <= most; ++splits) best = std::max(best, efficiency(splits));
  for (int64_t splits = 1; splits <= most; ++splits) {
    if (efficiency(splits) > 0 && efficiency(splits) >= 0.85 * best) return splits;
  }
  return 1;
}

ShapeTensor flash_attention(const AttentionDevice& device, const ShapeTensor& q,
                            const ShapeTensor& k, const ShapeTensor& v) {
  const Problem p(q, k);
  Run& run = *q.run;
  const Inputs inputs(q, k, v);
  run.memory.site.operation = "_scaled_dot_product_flash_attention";
  ShapeTensor out = empty_like(q, q.dtype);
  std::vector<ShapeTensor> others = {empty(run, {p.B, p.H, p.S}, DType::kFp32)};
  {
    const int64_t splits = key_splits(p, device.multiprocessors);
    ShapeTensor split_sums;
    ShapeTensor split_out;
    if (splits > 1) {
      split_sums = empty(run, {splits, p.B, p.H, p.S}, DType::kFp32);
      split_out = empty(run, {splits, p.B, p.H, p.S, whole_units(p.K, 32)}, DType::kFp32);
    }
    others.push_back(empty(run, {2}, DType::kInt64));
    others.push_back(empty(run, {}, DType::kInt64));
  }
  keep("ScaledDotProductFlashAttentionBackward0", out, inputs, others, flash_backward);
  return out;
}

// Autocast's rule. GCC makes the last argument first.
struct InComputeType {
  InComputeType(const ShapeTensor& q_given, const ShapeTensor& k_given, const ShapeTensor& v_given)
      : v(cast_for_product(v_given)), k(cast_for_product(k_given)), q(cast_for_product(q_given)) {}
  static ShapeTensor cast_for_product(const ShapeTensor& x) {
    return x.run->autocast ? cast(x, *x.run->autocast) : x;
  }
  ShapeTensor v, k, q;
};

ShapeTensor by_kernel(AttentionKernel kernel, const AttentionDevice& device,
                      const InComputeType& in, Mask mask) {
  switch (kernel) {
    case AttentionKernel::kCudnn:
      return cudnn_attention(in.q, in.k, in.v, mask);
    case AttentionKernel::kFlash:
      return flash_attention(device, in.q, in.k, in.v);
    case AttentionKernel::kMath:
      return math_attention(in.q, in.k, in.v, mask == Mask::kCausal);
    default:
      return efficient_attention(in.q, in.k, in.v);
  }
}

}  // namespace

ShapeTensor scaled_dot_product_attention(const AttentionDevice& device, const ShapeTensor& q_BHSK,
                                         const ShapeTensor& k_BGTK, const ShapeTensor& v_BGTK) {
  return by_kernel(device.kernel, device, InComputeType(q_BHSK, k_BGTK, v_BGTK), Mask::kCausal);
}

ShapeTensor later_attention(const AttentionDevice& device, const ShapeTensor& q_BHSK,
                            const ShapeTensor& k_BGTK, const ShapeTensor& v_BGTK) {
  Run& run = *q_BHSK.run;
  const Dims sizes = {1, 1, q_BHSK.size(2), k_BGTK.size(2)};
  ShapeTensor mask;
  {
    const ShapeTensor positions_T = integers(run, k_BGTK.size(2));
    mask = empty(run, sizes, DType::kBool);
  }
  const InComputeType in(q_BHSK, k_BGTK, v_BGTK);
  ShapeTensor bias;
  {  // where(mask, 0, -infinity)
    const ShapeTensor minus_infinity = empty(run, {}, in.q.dtype);
    const ShapeTensor zero = empty(run, {}, in.q.dtype);
    bias = empty(run, sizes, in.q.dtype);
  }
  constexpr int64_t kAligned = 8;  // keys of a row, for the memory-efficient kernel
  if (device.of_later == AttentionKernel::kMemoryEfficient && sizes[3] % kAligned != 0) {
    bias = empty(run, {1, 1, sizes[2], whole_units(sizes[3], kAligned)}, in.q.dtype);
  }
  return by_kernel(device.of_later, device, in, Mask::kGiven);
}

ShapeTensor decoding_attention(const AttentionDevice& device, const ShapeTensor& q_BGSK,
                               const ShapeTensor& k_BGTK, const ShapeTensor& v_BGTK) {
  return by_kernel(device.of_decode, device, InComputeType(q_BGSK, k_BGTK, v_BGTK), Mask::kNone);
}

}  // namespace headroom
