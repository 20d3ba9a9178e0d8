// Programs for a virtual card, as one program: linking libtorch is slow. Each prints one line per
// row or fault, and returns an exit code.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include <cstdint>

namespace headroom {

// Bytes that libtorch's allocator has given on the card, now.
inline int64_t live_bytes_of_card() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  return stats.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)]
      .current;
}

int check_contract();
int print_log_probs();
int check_queries(const char* capability);
int capture_checkpointed_steps();
int check_ppo();

}  // namespace headroom
