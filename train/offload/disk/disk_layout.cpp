#include "train/offload/disk/disk_layout.h"

#include <algorithm>

#include "text/hash.h"
#include "train/settings/whole_units.h"

namespace headroom {
namespace {

constexpr int64_t kNumbersAPage = DiskLayout::kPage / int64_t{sizeof(float)};
constexpr int64_t kSmallestBlock = 3 * DiskLayout::kPage;

}  // namespace

std::string block_in_words(int64_t block, int64_t blocks, int64_t offset, int64_t bytes) {
  return "block " + std::to_string(block + 1) + " of " + std::to_string(blocks) + " (bytes " +
         std::to_string(offset) + " to " + std::to_string(offset + bytes - 1) + ")";
}

DiskLayout::DiskLayout(const std::vector<StateRegion>& regions, int64_t block_bytes)
    : block_bytes_(whole_units(std::max(block_bytes, kSmallestBlock), kSmallestBlock)) {
  const int64_t most = block_bytes_ / kSmallestBlock * kNumbersAPage;
  mix(hash_, static_cast<uint64_t>(block_bytes_));
  for (const StateRegion& region : regions) {
    for (int64_t first = 0; first < region.numbers; first += most) {
      const int64_t numbers = std::min(most, region.numbers - first);
      const int64_t bytes = whole_units(numbers, kNumbersAPage) * int64_t{sizeof(float)} * 3;
      blocks_.push_back({.region = static_cast<int>(ends_.size()),
                         .first = first,
                         .numbers = numbers,
                         .offset = file_bytes_,
                         .bytes = bytes});
      file_bytes_ += bytes;
    }
    ends_.push_back(blocks_.size());
    mix(hash_, region.name);
    mix(hash_, static_cast<uint64_t>(region.numbers));
  }
}

std::span<const StateBlock> DiskLayout::blocks_of(int region) const {
  const auto index = static_cast<size_t>(region);
  const size_t begin = index == 0 ? 0 : ends_[index - 1];
  return {blocks_.data() + begin, ends_[index] - begin};
}

}  // namespace headroom
