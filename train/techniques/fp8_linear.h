// Projections with FP8 matrix products: --precision fp8.
//
// Note [FP8 matrix products]
// Rationale: cards from compute capability 8.9 on multiply FP8 at twice BF16's rate, and a
//   projection saves its input for backward in one byte per number.
// Approach: the seven projections of a block (queries, keys, values, output; w1, w2, w3) multiply
//   FP8 numbers forward and in both products of backward, by at::_scaled_mm:
//     y = x W^T    x and W in e4m3 (4 bits of exponent, 3 of mantissa)
//     dx = dy W    dy in e5m2 (5 and 2)
//     dW = dy^T x
//   One FP32 scale for each tensor, from its current numbers (dynamic, tensorwise):
//     scale = max(largest magnitude, 1e-12) / largest code (448; e5m2: 57344), code = t / scale,
//   rounded to the nearest, ties to even. Sums in FP32, results in BF16; cuBLAS' fast accumulation
//   forward and not in backward. A NaN or an infinity in a tensor makes every number of its
//   products NaN, because the scale covers the whole tensor. Everything else is as under
//   --precision bf16: weights, their gradients and the residual stream FP32, the rest by autocast's
//   lists in BF16. The token table has no product, and the output head stays in BF16: torchao
//   converts every nn.Linear that its filter accepts, and the filter in its own example leaves out
//   the last one. Saved for backward: x in e4m3, transposed as dW needs it, with its scale; and the
//   weight, which exists anyway. TransformerEngine saves the transposed FP8 input too, plus an FP8
//   weight; torchao saves high-precision tensors and casts them again. Ours takes the least of
//   both: x needs no more precision, because dW multiplies just these codes; W is cast again. On a
//   card x / scale is divided and rounded in one kernel, so a cast allocates only its codes. On the
//   CPU the products are of the codes in FP32, times both scales, rounded to BF16, without
//   machine-specific instructions.
// Limits: sizes are multiples of 16 (train/settings/fp8_rules.h). Each projection casts its own
// input, so
//   the same codes are saved three times (two) after a norm. Gradient numbers below 1e-12 / 2^16
//   become zero if the gradient has no larger ones.
#pragma once

#include "model/layer_factory.h"
#include "model/torch.h"

namespace headroom {

// FP8 codes, contiguous, in the numbers' shape; codes * scale approximates the numbers.
struct Fp8Tensor {
  torch::Tensor codes;
  torch::Tensor scale;  // FP32, one number, shape (1)
};

// `type`: kFloat8_e4m3fn or kFloat8_e5m2. Takes FP32 or BF16 numbers, with any strides.
Fp8Tensor to_fp8(const torch::Tensor& numbers, at::ScalarType type);

// a b^T in BF16, with (M, K) and (N, K): the layout of FP8 products.
torch::Tensor fp8_product(const Fp8Tensor& a_MK, const Fp8Tensor& b_NK, bool fast_accumulation);

// x W^T in BF16, for x (..., in) and a weight (out, in), with its backward.
torch::Tensor fp8_linear(const torch::Tensor& x, const torch::Tensor& weight);

// The layers of --kernels eager, with fp8_linear for projections inside blocks.
const LayerFactory& fp8_layers();

}  // namespace headroom
