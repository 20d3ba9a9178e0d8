// ATen's operations as the step uses them: what each allocates, what its node saves, what its
// derivative allocates. Names as in ATen; derivatives as in its tools/autograd/derivatives.yaml and
// FunctionsManual.cpp. No torch here.
#pragma once

#include <utility>
#include <vector>

#include "profiling/theory/rehearsal/graph.h"
#include "profiling/theory/rehearsal/operations/tensor.h"

namespace headroom {

// elementwise.cpp
ShapeTensor add(const ShapeTensor& a, const ShapeTensor& b);
ShapeTensor sub(const ShapeTensor& a, const ShapeTensor& b);
ShapeTensor mul(const ShapeTensor& a, const ShapeTensor& b);
ShapeTensor div(const ShapeTensor& a, const ShapeTensor& b);
ShapeTensor add_scalar(const ShapeTensor& a);
ShapeTensor mul_scalar(const ShapeTensor& a);
ShapeTensor div_scalar(const ShapeTensor& a);
ShapeTensor neg(const ShapeTensor& a);
ShapeTensor exp(const ShapeTensor& a);
ShapeTensor log(const ShapeTensor& a);
ShapeTensor pow(const ShapeTensor& a);  // by a number
ShapeTensor rsqrt(const ShapeTensor& a);
ShapeTensor sqrt(const ShapeTensor& a);
ShapeTensor sigmoid(const ShapeTensor& a);
ShapeTensor greater_equal(const ShapeTensor& a, const ShapeTensor& b);
ShapeTensor where(const ShapeTensor& mask, const ShapeTensor& a);  // else a number
ShapeTensor to(const ShapeTensor& a, DType dtype);

// reductions.cpp
ShapeTensor sum_last(const ShapeTensor& a);   // over the last dimension, which stays as 1
ShapeTensor mean_last(const ShapeTensor& a);  // likewise
ShapeTensor mean(const ShapeTensor& a);
std::pair<ShapeTensor, ShapeTensor> max_last(const ShapeTensor& a);  // values, indices
ShapeTensor sum_to(const ShapeTensor& a, const Dims& sizes);
ShapeTensor sum(const ShapeTensor& a);
ShapeTensor amax_last(const ShapeTensor& a);
ShapeTensor argmax_last(const ShapeTensor& a);  // without that dimension
ShapeTensor index_select(const ShapeTensor& a, int64_t dim, const ShapeTensor& ids);
ShapeTensor gather_last(const ShapeTensor& a, const ShapeTensor& index);
ShapeTensor index(const ShapeTensor& table, const ShapeTensor& ids);  // rows of a table

// pointwise.cpp
ShapeTensor comparison(const ShapeTensor& a);  // with a number
ShapeTensor masked_fill(const ShapeTensor& a, const ShapeTensor& mask);
ShapeTensor clamp(const ShapeTensor& a);  // from both sides, by numbers
ShapeTensor maximum(const ShapeTensor& a, const ShapeTensor& b);
ShapeTensor minimum(const ShapeTensor& a, const ShapeTensor& b);
ShapeTensor softmax_last(const ShapeTensor& a);    // in no graph
ShapeTensor logsumexp_last(const ShapeTensor& a);  // likewise; that dimension stays as 1
ShapeTensor cat(const std::vector<ShapeTensor>& parts, int64_t dim);  // likewise

// views.cpp
ShapeTensor view(const ShapeTensor& a, const Dims& sizes);
ShapeTensor reshape(const ShapeTensor& a, const Dims& sizes);
ShapeTensor permute(const ShapeTensor& a, const Dims& order);
ShapeTensor transpose(const ShapeTensor& a, int64_t first, int64_t second);
ShapeTensor unsqueeze(const ShapeTensor& a, int64_t dim);
ShapeTensor squeeze(const ShapeTensor& a, int64_t dim);
ShapeTensor select_last(const ShapeTensor& a);  // one element of the last dimension
ShapeTensor narrow(const ShapeTensor& a, int64_t dim, int64_t length);
ShapeTensor expand(const ShapeTensor& a, const Dims& sizes);
ShapeTensor clone(const ShapeTensor& a);  // contiguous
ShapeTensor contiguous(const ShapeTensor& a);
ShapeTensor cat_last(const ShapeTensor& first, const ShapeTensor& second);

// products.cpp
ShapeTensor bmm(const ShapeTensor& a, const ShapeTensor& b);
// Letters of one case, "..." for the leading dimensions of the first operand: "...i,oi->...o".
ShapeTensor einsum(const char* equation, const ShapeTensor& a, const ShapeTensor& b);

// fp8_linear.cpp: x W^T in FP8, of x (..., in) and a weight (out, in).
ShapeTensor fp8_linear(const ShapeTensor& x, const ShapeTensor& weight_OI);

// In what autocast computes a tensor's operation, cast: autocast's cached_cast().
ShapeTensor cast(const ShapeTensor& a, DType dtype);
ShapeTensor cast_to_fp32(const ShapeTensor& a);  // of an operation on CUDA's FP32 list

}  // namespace headroom
