#include "train/optim/code_table.h"

#include <algorithm>

namespace headroom {
namespace {

constexpr uint32_t kSign = 0x80000000;

// A negative number is smaller with more bits of mantissa, a positive one with fewer.
float smallest_of_entry(uint32_t entry) {
  const uint32_t bits = entry << 16;
  return std::bit_cast<float>((bits & kSign) != 0 ? bits | 0xffff : bits);
}

// Magnitudes are in the order of their bits. A NaN is above infinity.
float largest_magnitude(const float* numbers, int64_t count) {
  int32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t magnitude = std::bit_cast<uint32_t>(numbers[i]) & ~kSign;
    largest = std::max(largest, static_cast<int32_t>(magnitude));
  }
  return std::bit_cast<float>(largest);
}

// As MiddleTree::encode_block. Two loops, because the compiler makes vectors of divisions but not
// of table entries.
float encode_block(float* numbers, int64_t count, const CodeTable& table, uint8_t* codes) {
  const float scale = largest_magnitude(numbers, count);
  for (int64_t i = 0; i < count; ++i) numbers[i] /= scale;
  for (int64_t i = 0; i < count; ++i) codes[i] = table.code(numbers[i]);
  return scale;
}

}  // namespace

CodeTable::CodeTable(std::span<const float, kMiddles> middles) : tree_(middles) {
  std::copy(middles.begin(), middles.end(), middles_.begin());
  middles_.back() = std::numeric_limits<float>::infinity();
  for (uint32_t entry = 0; entry < lowest_.size(); ++entry) {
    const auto* const above =
        std::lower_bound(middles.data(), middles.data() + kMiddles, smallest_of_entry(entry));
    lowest_[entry] = static_cast<uint8_t>(above - middles.data());
  }
}

void encode_blocks(const NumberBlocks& blocks, const CodeTable& table, HostVectors vectors) {
  const bool is_searched =
      vectors == HostVectors::kAvx512 && blocks.width % MiddleTree::kAtOnce == 0;
  // Blocks per thread and turn: a thread that another process delays holds back little.
  constexpr int64_t kTurn = 256;
#pragma omp parallel for schedule(dynamic, kTurn) if (blocks.count > kTurn)
  for (int64_t i = 0; i < blocks.count; ++i) {
    float* const numbers = blocks.numbers + i * blocks.width;
    uint8_t* const codes = blocks.codes + i * blocks.width;
    blocks.scales[i] = is_searched ? table.tree().encode_block(numbers, blocks.width, codes)
                                   : encode_block(numbers, blocks.width, table, codes);
  }
}

}  // namespace headroom
