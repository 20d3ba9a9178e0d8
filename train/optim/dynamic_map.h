// The 256 values that an 8-bit moment can have.
#pragma once

#include <memory>

#include "model/torch.h"

namespace headroom {

// Note [Block-wise dynamic 8 bit]
// Rationale: Dettmers et al. 2022 (8-bit Optimizers via Block-wise Quantization, arXiv 2110.02861)
//   keep a moment as one byte for each element and a scale for each block of elements, its largest
//   magnitude. Moments of one tensor lie orders of magnitude apart, so the values that a byte
//   stands for do too: for each power of ten from 1e-6 to 1 the centres of equal steps from a
//   tenth of it to all of it; 1, 2, 4 ... 64 of them of each sign, twice as many where none is
//   negative (v); and 0 and 1.
// Approach: bitsandbytes' definition (0.44 and later), bit by bit: its maps, the nearest value (the
//   lower of two as near), blocks of 256 in row-major order. Held against the library itself:
//   tests/baselines/optim/against_bitsandbytes.py.
// Limits: bitsandbytes' CUDA kernel moves an element of m that would be stored as a 0 of the other
//   sign to the next value (less than 3e-7 of its block's scale); its CPU kernel looks the nearest
//   value up in a table and is off by one near the small ones. Ours does neither.
struct DynamicMaps {
  explicit DynamicMaps(torch::Device device);

  torch::Tensor table;  // all of it: (4, 256) FP32
  // Rows of it: values in ascending order, and the middles between neighbours.
  torch::Tensor values, middles;                    // from -1 to 1
  torch::Tensor unsigned_values, unsigned_middles;  // from 0 to 1
};

// Those of a device: one copy for all optimizers that hold it, however many parameters have an
// optimizer of their own.
std::shared_ptr<const DynamicMaps> dynamic_maps(torch::Device device);

}  // namespace headroom
