// Which gradients replicas send together. No torch here: the rehearsal of theory cuts the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headroom {

// Parameters by their index, in the reverse of their order; a bucket is full from `bucket_bytes`
// on. bytes: of each parameter. blocks: which block each is of; where it says so no bucket has
// parameters of two.
std::vector<std::vector<size_t>> buckets_of(const std::vector<int64_t>& bytes,
                                            const std::vector<int64_t>& blocks,
                                            int64_t bucket_bytes);

}  // namespace headroom
