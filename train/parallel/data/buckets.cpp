#include "train/parallel/data/buckets.h"

namespace headroom {

std::vector<std::vector<size_t>> buckets_of(const std::vector<int64_t>& bytes,
                                            const std::vector<int64_t>& blocks,
                                            int64_t bucket_bytes) {
  std::vector<std::vector<size_t>> buckets;
  int64_t filled = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    const bool other_block = !blocks.empty() && i + 1 < bytes.size() && blocks[i] != blocks[i + 1];
    if (buckets.empty() || filled >= bucket_bytes || other_block) {
      buckets.emplace_back();
      filled = 0;
    }
    buckets.back().push_back(i);
    filled += bytes[i];
  }
  return buckets;
}

}  // namespace headroom
