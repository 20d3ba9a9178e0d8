// 8-bit codes by a search, 16 numbers at once. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace headroom {

// Note [Codes by a search in vectors]
// Rationale: a processor looks up one entry of a table (Note [Codes by a table]) at a time: four
//   cycles for each number. Its instructions that load 16 entries by their indices are no faster.
// Approach: the code of x is the number of middles below x. AVX-512 selects 16 of 32 numbers in a
//   register by one instruction. The middles lie in the order of a binary tree, so each of the
//   first six steps of the search needs one such selection, the seventh two and the last four:
//   1.5 cycles for each number. Encoding takes a third of the time of the table.
// Limits: processors with AVX-512 only, and blocks of a multiple of 16 numbers; the table does the
//   rest. tests/train/optim/code_table_test.cpp compares both.
class MiddleTree {
 public:
  static constexpr int kCodes = 256;
  static constexpr int64_t kAtOnce = 16;  // numbers

  // Middles in ascending order.
  explicit MiddleTree(std::span<const float, kCodes - 1> middles);

  // Writes the codes of numbers / the largest magnitude, and returns that magnitude: NaN if one of
  // the numbers is. The processor must have AVX-512F; count is a multiple of kAtOnce.
  float encode_block(const float* numbers, int64_t count, uint8_t* codes) const;

 private:
  // The children of node k are 2k, for numbers up to its middle, and 2k + 1; 1 is the root.
  alignas(64) std::array<float, kCodes> nodes_;
};

}  // namespace headroom
