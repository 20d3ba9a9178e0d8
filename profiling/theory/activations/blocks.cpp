#include "profiling/theory/activations/blocks.h"

#include <algorithm>
#include <iterator>

namespace headroom {

Blocks Blocks::all(int64_t layers) { return every(1, layers); }

Blocks Blocks::every(int64_t step, int64_t layers) {
  Blocks blocks;
  for (int64_t block = 0; block < layers; block += step) blocks.add(block);
  return blocks;
}

bool Blocks::contains(int64_t block) const {
  return std::binary_search(numbers_.begin(), numbers_.end(), block);
}

Blocks Blocks::without(const Blocks& others) const {
  Blocks left;
  std::set_difference(numbers_.begin(), numbers_.end(), others.numbers_.begin(),
                      others.numbers_.end(), std::back_inserter(left.numbers_));
  return left;
}

Blocks Blocks::moved(int64_t by) const {
  Blocks blocks;
  for (const int64_t number : numbers_) {
    if (number + by >= 0) blocks.add(number + by);
  }
  return blocks;
}

Blocks Blocks::last(int64_t count) const {
  Blocks blocks;
  const auto first = numbers_.size() - std::min(numbers_.size(), static_cast<size_t>(count));
  blocks.numbers_.assign(numbers_.begin() + static_cast<std::ptrdiff_t>(first), numbers_.end());
  return blocks;
}

}  // namespace headroom
