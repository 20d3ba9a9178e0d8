// Numbers in 8 bits, with one FP32 scale per block.
//
// Note [Block-wise 8 bit]
// Rationale: most saved activations are read once more, in backward, where an error of a fraction
//   of a percent is lost in the gradient's own noise; a quarter of the bytes is enough.
// Approach: a block is a run of consecutive numbers in memory. Its scale is its largest magnitude
//   over the largest code: 127 for int8; 448 for e4m3 (Micikevicius et al. 2022, table 1; sign, 4
//   bits of exponent, 3 of mantissa). code = x / scale, rounded to the nearest, ties to even; back:
//   code * scale. Both in FP32. With M the largest magnitude of the block,
//     int8:  |decoded - x| <= M / 254
//     fp8:   |decoded - x| <= the larger of |x| / 16 and M / 458752 (half the smallest e4m3 step)
//   up to FP32's own rounding (1e-6 M), and then the rounding to x's type: |x| / 256 for BF16,
//   |x| / 2048 for FP16 (2^-25 below its normal numbers). Zero stays zero. A block with a NaN or
//   an infinity decodes to NaN entirely; no other block changes.
//   The work is done kQuantizeChunk numbers at a time: encoding and decoding need no more extra
//   memory than that many FP32 numbers (the CPU's casts take as much again).
// Limits: magnitudes below 2^-126 * 127 may become zero. A block of the largest FP32 numbers may
//   decode as infinity.
#pragma once

#include <map>

#include "model/torch.h"
#include "train/kernels/operations/compiled_operation.h"
#include "train/settings/vocabulary/activations.h"
#include "train/techniques/activations/quantize_chunk.h"

namespace headroom {

struct Quantized {
  torch::Tensor codes;   // int8 or float8_e4m3fn, one for each number
  torch::Tensor scales;  // FP32, one for each block; the last block may be short
  int64_t block = 0;
};

// Compiled operations by the type of the numbers; empty: ATen's operations.
struct CompiledPacking {
  std::map<at::ScalarType, OperationPtr> pack, unpack;
};
CompiledPacking compiled_packing(const RunSpec& spec, torch::Device device);

// Takes a contiguous vector in FP32, FP16 or BF16. `activations` must be encoded().
Quantized quantize(const torch::Tensor& numbers, const Activations& activations,
                   const CompiledPacking& compiled = {});

// Overwrites a contiguous vector of as many numbers.
void dequantize(const Quantized& quantized, const torch::Tensor& numbers,
                const CompiledPacking& compiled = {});

}  // namespace headroom
