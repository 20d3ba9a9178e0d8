#include "profiling/theory/blocks.h"

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

}  // namespace headroom
