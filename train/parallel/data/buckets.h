// Gradient buckets of replicas. No torch here: the rehearsal of theory uses the same buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {

// Buckets of parameter indices, in reverse order; a bucket is full at `bucket_bytes` or more.
// bytes: of each parameter. blocks: the block of each parameter; if not empty, no bucket spans two
// blocks.
std::vector<std::vector<size_t>> buckets_of(const std::vector<int64_t>& bytes,
                                            const std::vector<int64_t>& blocks,
                                            int64_t bucket_bytes);

}  // namespace headroom
