// 8-bit codes by a table instead of a search, on the host's processor. No torch here.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "train/offload/states/host_vectors.h"
#include "train/optim/code_search.h"

namespace headroom {

// Note [Codes by a table]
// Rationale: the code of x is the number of middles below x. at::bucketize finds it by a binary
//   search of 255 middles, and on a CPU these searches took three quarters of an update.
// Approach: the upper 16 bits of x (sign, exponent, 7 bits of mantissa) select an entry of a
//   table: the code of the smallest number with these bits. At most one middle of the dynamic maps
//   lies among the numbers of an entry, so one comparison with the next middle decides. The codes
//   are those of the search for every x. tests/train/optim/code_table_test.cpp compares every
//   entry; all 2^32 numbers were compared by hand.
//   A processor with AVX-512 does the search itself: Note [Codes by a search in vectors].
// Limits: a table is 64 KiB of the program's own memory, not a tensor. A card keeps the search: a
//   table needs five kernels there and more temporaries. On an H100 4,194,304 numbers took 50 us by
//   the search and 74 us by a table; 16,384 numbers took 16 us and 78 us.
class CodeTable {
 public:
  static constexpr int kCodes = MiddleTree::kCodes;
  static constexpr int kMiddles = kCodes - 1;

  // Middles in ascending order.
  explicit CodeTable(std::span<const float, kMiddles> middles);

  uint8_t code(float x) const {
    if (std::isnan(x)) return kCodes - 1;  // as the search
    const uint8_t lowest = lowest_[std::bit_cast<uint32_t>(x) >> 16];
    return static_cast<uint8_t>(lowest + (middles_[lowest] < x ? 1 : 0));
  }

  const MiddleTree& tree() const { return tree_; }

 private:
  std::array<uint8_t, 1 << 16> lowest_;
  std::array<float, kCodes> middles_;  // and infinity: no number is above the last code
  MiddleTree tree_;
};

// Blocks of FP32 numbers, one after another, and where their codes and scales go.
struct NumberBlocks {
  float* numbers = nullptr;  // may be overwritten by numbers / scale
  uint8_t* codes = nullptr;
  float* scales = nullptr;  // the largest magnitude of each block; NaN if the block has a NaN
  int64_t count = 0;        // blocks
  int64_t width = 0;        // numbers of a block
};

// By the table, or by its tree where `vectors` are those of AVX-512. The processor must have them.
void encode_blocks(const NumberBlocks& blocks, const CodeTable& table,
                   HostVectors vectors = widest_vectors());

}  // namespace headroom
