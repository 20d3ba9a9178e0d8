// The 256 values of an 8-bit moment.
#pragma once

#include <memory>

#include "model/torch.h"
#include "train/optim/code_table.h"

namespace headroom {

// Note [Block-wise dynamic 8 bit]
// Rationale: Dettmers et al. 2022 (8-bit Optimizers via Block-wise Quantization, arXiv 2110.02861)
//   keep a moment as one byte per element and one scale per block of elements, its largest
//   magnitude. Moments of one tensor differ by orders of magnitude, so the byte's values do too:
//   for each power of ten from 1e-6 to 1 the centres of equal steps from a tenth of it to all of
//   it; 1, 2, 4 ... 64 of them of each sign, twice as many for v, which is never negative; and 0
//   and 1.
// Approach: bitsandbytes' definition (0.44 and later), bit by bit: its maps, the nearest value (the
//   lower one of a tie), blocks of 256 in row-major order. Compared with the library itself in
//   tests/baselines/optim/against_bitsandbytes.py.
// Limits: bitsandbytes' CUDA kernel moves an element of m that would be stored as a 0 of the other
//   sign to the next value (less than 3e-7 of its block's scale); its CPU kernel uses a lookup
//   table and is off by one near small values. Ours does neither.
struct DynamicMap {
  torch::Tensor values;   // in ascending order
  torch::Tensor middles;  // between neighbours
  // For tensors on the CPU: Note [Codes by a table] in train/optim/code_table.h.
  std::unique_ptr<const CodeTable> code_table;
};

struct DynamicMaps {
  explicit DynamicMaps(torch::Device device);

  torch::Tensor table;      // (4, 256) FP32, whose rows are the values and middles of both
  DynamicMap with_sign;     // from -1 to 1
  DynamicMap without_sign;  // from 0 to 1
};

// The maps of a device: one copy for all optimizers that hold it, even with one optimizer per
// parameter.
std::shared_ptr<const DynamicMaps> dynamic_maps(torch::Device device);

}  // namespace headroom
