#include "bench/dryrun/breakdown/refusal.h"

#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>

#include "bench/dryrun/breakdown/rows_json.h"

namespace headroom {

nlohmann::json refusal_json(int device, int64_t wanted, const Instant& live) {
  int64_t sum = 0, largest = 0, segments = 0;
  for (const auto& segment : c10::cuda::CUDACachingAllocator::snapshot().segments) {
    if (segment.device != device) continue;
    bool has_hole = false;
    for (const auto& block : segment.blocks) {
      if (block.allocated || block.active) continue;
      has_hole = true;
      sum += static_cast<int64_t>(block.size);
      largest = std::max(largest, static_cast<int64_t>(block.size));
    }
    segments += has_hole && segment.allocated_size > 0 ? 1 : 0;
  }
  nlohmann::json refusal = instant_json(live);
  refusal.update({{"ordinal", device},
                  {"wanted_bytes", wanted},
                  {"free_bytes_in_segments", sum},
                  {"largest_free_block_bytes", largest},
                  {"segments_with_holes", segments}});
  return refusal;
}

}  // namespace headroom
