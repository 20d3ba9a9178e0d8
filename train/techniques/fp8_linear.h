// Projections whose matrix products are of FP8 numbers: --precision fp8.
//
// Note [FP8 matrix products]
// Rationale: cards from compute capability 8.9 on multiply FP8 at twice BF16's rate, and what a
//   projection keeps of its input for backward is one byte a number.
// Approach: the seven projections of a block (queries, keys, values, output; w1, w2, w3) multiply
//   FP8 numbers forward and in both products of backward, by at::_scaled_mm:
//     y = x W^T    x and W in e4m3 (4 bits of exponent, 3 of mantissa)
//     dx = dy W    dy in e5m2 (5 and 2)
//     dW = dy^T x
//   One FP32 scale for each tensor, of the numbers that it has now (dynamic, tensorwise):
//     scale = max(largest magnitude, 1e-12) / largest code (448; e5m2: 57344), code = t / scale,
//   rounded to the nearest, ties to even. Sums in FP32, results in BF16; cuBLAS' fast accumulation
//   forward and not in backward. A NaN or an infinity in a tensor makes every number of its
//   products NaN: a scale is of the whole tensor. Everything else is as under --precision bf16:
//   weights, their gradients and the residual stream FP32, the rest by autocast's lists in BF16.
//   The token table is no product, and the output head stays in BF16: torchao converts every
//   nn.Linear that its filter lets through, and the filter of its own example leaves the last one
//   out. Kept for backward: x in e4m3, transposed as dW wants it, and its scale; the weight itself,
//   which is there anyway. TransformerEngine keeps the transposed FP8 input too, and beside it an
//   FP8 weight; torchao's tensors in high precision stay in it and are cast again. Ours is the
//   least of both: x is not needed any finer, because dW multiplies just these codes; W is cast
//   again. On a card x / scale is divided and rounded in one kernel, so that a cast makes nothing
//   but its codes. On the CPU the products are of the codes in FP32, then times both scales, then
//   rounded to BF16, by no instructions that only some machines have.
// Limits: sizes are multiples of 16 (train/fp8_rules.h). Each projection casts its own input, so
//   behind a norm the same codes are kept three times (two). Numbers below 1e-12 / 2^16 of a
//   gradient that has no larger ones become zero.
#pragma once

#include "model/layer_factory.h"
#include "model/torch.h"

namespace headroom {

// Codes in FP8, contiguous, of the numbers' shape; codes * scale is nearest to them.
struct Fp8Tensor {
  torch::Tensor codes;
  torch::Tensor scale;  // FP32, one number, shape (1)
};

// `type`: kFloat8_e4m3fn or kFloat8_e5m2. Of numbers in FP32 or BF16, with any strides.
Fp8Tensor to_fp8(const torch::Tensor& numbers, at::ScalarType type);

// a b^T in BF16, of (M, K) and (N, K): the layout that FP8 products have.
torch::Tensor fp8_product(const Fp8Tensor& a_MK, const Fp8Tensor& b_NK, bool fast_accumulation);

// x W^T in BF16, of x (..., in) and a weight (out, in), with its backward.
torch::Tensor fp8_linear(const torch::Tensor& x, const torch::Tensor& weight);

// The layers of --kernels eager, whose projections inside blocks are fp8_linear.
const LayerFactory& fp8_layers();

}  // namespace headroom
